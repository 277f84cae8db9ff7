"""The report: its tables, its page, and parts that cannot be run."""

import json
import subprocess
import sys

import native_programs
import pytest
import report
import report_page
import report_parts
from report_parts import PARTS, Part

ACCURACY = {
    "movielens": {
        "sync": {"auc_of_each_seed": [0.9, 0.8], "minus_sync": 0.0},
        "hybrid4": {"auc_of_each_seed": [0.9, 0.81], "minus_sync": 0.005},
    }
}
POINT = {
    **{"shards": 8, "ms_per_step": 12.34, "lookup_requests_per_step": 8.0},
    **{"bytes_out_per_step": 3e6, "bytes_in_per_step": 1.5e6},
}


def stored(part, figures):
    return {
        part.name: {
            "command": f"python benchmarks/{part.command[0]}",
            "commit": "abc",
            "seconds": 120.0,
            "status": 0,
            "result": {"figures": figures},
        }
    }


def part_of(name):
    [part] = report_parts.chosen([name])
    return part


def test_accuracy_is_compared_with_synchronous_training():
    header, sync, hybrid = report_parts.accuracy_table(ACCURACY)
    assert header[2:] == ("test AUC", "less synchronous", "seeds")
    assert sync[1:] == ("synchronous", "0.8500 ± 0.0707", "", "2")
    assert hybrid[3] == "+0.0050"


def test_a_step_is_shown_for_each_number_of_shards():
    table = report_parts.shards_table({"shards": [POINT, {**POINT, "shards": 1}]})
    assert table[1:] == [("8", "12.3", "4.50", "8.0"), ("1", "12.3", "4.50", "8.0")]


def test_costs_of_staleness_are_in_thousandths():
    group = {"data_set": "clicks", "exponent": 0.0, "optimizer": "sgd"}
    costs = [{"staleness": 64, "loss": {"mean": 0.0012}}]
    header, row = report_parts.staleness_table({"groups": [{**group, "costs": costs}]})
    assert header[3:] == ("64 steps",)
    assert row == ("clicks", "uniform", "SGD", "+1.20")


def test_each_figure_names_the_command_that_made_it():
    part = part_of("shards")
    page = report_page.page([part], stored(part, {"shards": [POINT]}), quick=False)
    assert "Measured by `python benchmarks/step_cost.py`, in 2 minutes, at abc" in page
    assert "| 8 | 12.3 | 4.50 | 8.0 |" in page
    assert "smoke" not in page


def test_parts_without_figures_say_why():
    part = part_of("failover")
    reason = {part.name: {"reason": "it ended with 1"}}
    page = report_page.page([part], reason, quick=True)
    assert f"- **{part.title}**: it ended with 1." in page
    assert "- **Scale: NN workers**: it was not run." in report_page.page(
        PARTS, {}, quick=False
    )
    assert "the figures mean nothing" in page


def test_parts_without_data_are_not_run(monkeypatch):
    monkeypatch.delenv("PERSIA_TF_DATA", raising=False)
    assert "PERSIA_TF_DATA" in report.run_part(part_of("accuracy"), True)["reason"]


@pytest.mark.parametrize("command", [("no_such_program.py",), ("report_page.py",)])
def test_parts_that_fail_do_not_stop_the_report(command):
    part = Part("x", "X", "", command, (), report_parts.named_figures({}))
    assert command[0] in report.run_part(part, quick=True)["reason"]


def test_every_program_exists():
    for part in PARTS:
        assert (native_programs.ROOT / "benchmarks" / part.command[0]).exists()


@pytest.mark.slow
def test_a_part_is_run_and_stored_once(tmp_path):
    command = [sys.executable, native_programs.ROOT / "benchmarks/report.py"]
    command += ["--quick", "--only", "shards", "--folder", tmp_path, "--resume"]

    def run():
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])["figures"]

    first = run()
    assert run() == first == {"shards": pytest.approx(first["shards"])}
    assert "step_cost.py" in (tmp_path / "quick.md").read_text()
