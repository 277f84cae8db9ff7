"""The report: its tables, its page, and parts that cannot be run."""

import dataclasses
import json
import re
import subprocess
import sys

import native_programs
import pytest
import report
import report_page
import report_parts
import report_plots
import report_tables
from report_parts import PARTS, Part

from persia_tf.simulation.limit import Limit

ACCURACY = {
    "movielens": {
        "sync": {"auc_of_each_seed": [0.9, 0.8], "minus_sync": 0.0},
        "hybrid4": {"auc_of_each_seed": [0.9, 0.81], "minus_sync": 0.005},
    }
}
POINT = {
    "shards": 8,
    "ms_per_step": 12.34,
    "bytes_out_per_step": 3e6,
    "bytes_in_per_step": 1.5e6,
}


def stored(part, figures):
    return {
        part.name: {
            "template": list(part.command),
            "command": f"python benchmarks/{part.command[0]}",
            "commit": "abc",
            "day": "2026-01-31",
            "seconds": 120.0,
            "status": 0,
            "result": {"figures": figures},
            "failure": "",
        }
    }


def part_of(name):
    [part] = report_parts.chosen([name])
    return part


def page_of(part, runs):
    """Returns the page as one line."""
    return " ".join(report_page.page([part], runs, quick=False).split())


def test_accuracy_is_compared_with_synchronous_training():
    header, sync, hybrid = report_tables.accuracy_table(ACCURACY)
    assert header[2:] == ("test AUC", "less synchronous", "seeds")
    assert sync[1:] == ("synchronous", "0.8500 ± 0.0707", "", "2")
    assert hybrid[3] == "+0.0050"


def test_a_step_is_shown_for_each_number_of_shards():
    slower = {**POINT, "shards": 16, "ms_per_step": 24.68}
    table = report_tables.shards_table({"shards": [POINT, slower]})
    assert table[1:] == [("8", "12.3", "1.00", "4.50"), ("16", "24.7", "2.00", "4.50")]


def test_costs_of_staleness_are_in_thousandths():
    group = {"data_set": "clicks", "exponent": 0.0, "optimizer": "sgd"}
    costs = [{"staleness": 64, "loss": {"mean": 0.0012}}]
    header, row = report_tables.staleness_table({"groups": [{**group, "costs": costs}]})
    assert header[3:] == ("64 steps",)
    assert row == ("clicks", "uniform", "SGD", "+1.20")


def compared(shards=(1, 2), delays=(None, 10.0)):
    return [
        {
            "case": {"kind": kind, "shards": n, "delay_ms": delay, "in_flight": most},
            **{"figure": figure, "measured": 10.0 * n, "simulated": 11.0 * n},
        }
        for n in shards
        for delay in delays
        for kind, most, figure in (("lookup", 1, "p99 ms"), ("train", 5, "per second"))
    ]


def test_simulated_figures_are_beside_measured_ones():
    header, *rows = report_tables.simulator_table({"compared": compared()})
    assert header[-2:] == ("1 shard", "2 shards")
    assert len(rows) == 4
    far = ("lookups", "10 ms away", "1", "p99 ms")
    assert (*far, "11 / 10 (+10%)", "22 / 20 (+10%)") in rows


def test_a_plan_shows_its_worst_set_up():
    error = {"worst": 0.123, "of": "bags", "median": 0.01}
    table = report_tables.planner_table(dict.fromkeys(report_tables.PLANNED, error))
    assert table[1] == ("rows of a table", "12.3%", "bags", "1.0%")


def test_limits_that_are_far_away_are_left_out():
    near = Limit("memory", 10.0, 5.0, "", "", "")
    far = Limit("slots", 1.0, 1000.0, "", "", "")
    endless = Limit("hot rows", 0.0, 1.0, "", "", "")
    limits = [limit.to_dict() for limit in (near, far, endless)]
    header, row = report_tables.limits_table({"limits": limits})
    assert row[0] == "memory" and row[3] == "0.5"


@pytest.mark.parametrize(
    ("plots", "figures", "texts"),
    [
        (
            report_plots.throughput,
            {
                **{"embedded_over_tf_keras": 1.5, "remote_over_tf_keras": 1.2},
                **{"hybrid_hides_10ms": 0.9, "hybrid_over_sync_10ms": 3.0},
            },
            [["1.5", "1.2"], ["0.9", "0.3"]],
        ),
        (report_plots.workers, {"two_workers_over_one": 1.75}, [["1.8"]]),
        (report_plots.shards, {"shards": [{**POINT, "shards": 1}, POINT]}, [["8"]]),
        (report_plots.simulator, {"compared": compared()}, [["2", "10 ms away"]]),
        (
            report_plots.peers,
            {
                "persia": {"title": "ours", "over_persia": 1.0},
                "other": {"title": "the other", "over_persia": 0.25},
                "absent": {"title": "the absent one", "reason": "no version"},
            },
            [["ours", "the other", "0.25"]],
        ),
        (report_plots.peers, {"persia": {"title": "ours", "reason": "no"}}, []),
        (report_plots.staleness, {"groups": [], "fits": {}}, []),
    ],
)
def test_plots_show_the_figures(plots, figures, texts):
    drawn = plots(figures)
    assert len(drawn) == len(texts)
    for svg, expected in zip(drawn.values(), texts):
        assert set(expected) <= set(re.findall("<text.*>(.*)</text>", svg))


def test_each_figure_names_the_command_that_made_it():
    part = part_of("shards")
    page = report_page.page([part], stored(part, {"shards": [POINT]}), quick=False)
    assert "in 2 minutes, on 2026-01-31, at commit abc:" in page
    assert "```sh\npython benchmarks/step_cost.py\n```" in page
    assert "| 8 | 12.3 | 1.00 | 4.50 |" in page
    assert "smoke" not in page


def test_long_commands_are_broken():
    part = part_of("shards")
    run = stored(part, {"shards": [POINT]})[part.name]
    run["command"] = " ".join(["python", *["--only figure"] * 20])
    page = report_page.page([part], {part.name: run}, quick=False)
    command = page.partition("```sh\n")[2].partition("\n```")[0]
    assert max(map(len, command.splitlines())) <= 80
    assert command.replace(" \\\n  ", " ") == run["command"]


def test_the_page_says_where_and_when_it_was_made():
    part = part_of("shards")
    text = page_of(part, stored(part, {"shards": [POINT]}))
    for fact in (
        " virtual cores",
        " numpy ",
        "Run: 2026-01-31.",
        "of all parts: 2 min",
    ):
        assert fact in text


def test_parts_without_figures_say_why():
    part = part_of("failover")
    reason = {part.name: {"reason": "its data\nare absent"}}
    page = report_page.page([part], reason, quick=True)
    assert f"- **{part.title}.** Not shown: its data are absent." in page
    assert "- **Scale: NN workers.** Not shown: it was not run." in report_page.page(
        PARTS, {}, quick=False
    )
    assert "the figures mean nothing" in page


def test_parts_without_data_are_not_run(monkeypatch, tmp_path):
    monkeypatch.delenv("PERSIA_TF_DATA", raising=False)
    run = report.run_part(part_of("accuracy"), True, tmp_path)
    assert "PERSIA_TF_DATA" in run["reason"] and "status" not in run


def part_that_runs(*command):
    return Part("x", "X", "", command, (), report_tables.named_figures({}))


@pytest.mark.parametrize("command", ["no_such_program.py", "report_page.py"])
def test_the_page_says_which_command_failed(command, tmp_path):
    part = part_that_runs(command, "{folder}/x")
    run = report.run_part(part, True, tmp_path)
    assert run["status"]
    text = page_of(part, {"x": run})
    assert f"- **X.** `python benchmarks/{command} " in text
    assert "failed at commit" in text


def test_the_page_says_if_a_part_went_on_with_earlier_runs(tmp_path):
    part = part_that_runs("no_such_program.py", "{folder}/x.jsonl")
    assert report.run_part(part, True, tmp_path)["kept_runs"] == 0
    (tmp_path / "x.jsonl").write_text("{}\n{}\n")
    kept = report.run_part(part, True, tmp_path)["kept_runs"]
    part = part_of("shards")
    run = {**stored(part, {"shards": [POINT]})[part.name], "kept_runs": kept}
    told = "in 2 minutes (with 2 runs that an earlier start had made), on 2026-01-31"
    assert told in page_of(part, {part.name: run})


def test_a_part_that_takes_too_long_fails(tmp_path):
    part = part_that_runs("persia", "simulate", "--list")
    run = report.run_part(part, True, tmp_path, most_seconds=0.0)
    assert run["reason"] == "it did not end in 0 s" and run["status"] == 1


def test_figures_that_cannot_be_shown_are_a_reason(tmp_path):
    part = part_of("shards")
    run = stored(part, {"shards": [{"shards": 1}]})[part.name]
    found = report.checked(part, run)
    assert "KeyError" in found["reason"] and found["status"] == 1
    assert f"- **{part.title}.** `" in report_page.page(
        [part], {part.name: found}, True
    )
    failed = report.checked(part, {**run, "status": 2, "failure": "rows are lost"})
    assert (failed["reason"], failed["status"]) == ("rows are lost", 2)
    report_page.write_page([part], {part.name: found}, True, tmp_path / "report.md")
    assert not list((tmp_path / "pictures").iterdir())


def test_a_failure_with_figures_shows_both():
    part = part_of("shards")
    run = {**stored(part, {"shards": [POINT]})[part.name], "status": 1}
    page = report_page.page([part], {part.name: {**run, "failure": "lost"}}, True)
    assert "**The program failed: lost.**" in page and "| 8 | 12.3 |" in page


def test_commands_say_whether_data_is_read(monkeypatch):
    part = part_of("planner")
    monkeypatch.delenv("PERSIA_TF_DATA", raising=False)
    assert report.template_of(part, quick=True) == ["plan_check.py", "--quick"]
    without = {"status": 0, "template": report.template_of(part, quick=True)}
    assert report.is_finished(part, without, quick=True)
    monkeypatch.setenv("PERSIA_TF_DATA", "/data")
    command = report.template_of(part, quick=True)
    assert report._shown(command) == (
        "PERSIA_TF_DATA=... python benchmarks/plan_check.py --quick"
    )
    assert report._started(command)[1:] == [
        str(report._HERE / "plan_check.py"),
        "--quick",
    ]
    # Now there is more to show.
    assert not report.is_finished(part, without, quick=True)


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """Replaces the parts; gives the names of those that are run, and statuses."""
    parts = [part_that_runs("a.py"), part_that_runs("b.py")]
    parts = [dataclasses.replace(p, name=n, title=n) for p, n in zip(parts, "ab")]
    ran, statuses = [], {"a": 0, "b": 0}

    def run_part(part, quick, folder, most_seconds):
        ran.append(part.name)
        if statuses[part.name] is None:
            raise KeyboardInterrupt
        run = stored(part, {})[part.name]
        return {**run, "status": statuses[part.name]}

    monkeypatch.setattr(report, "PARTS", parts)
    monkeypatch.setattr(report, "chosen", lambda names: parts)
    monkeypatch.setattr(report, "run_part", run_part)
    return ran, statuses


def run_all(folder, *options):
    options += ("--folder", str(folder), "--page", str(folder / "page.md"))
    return report.run_all(report.parse_arguments(options))


def test_what_is_finished_is_not_run_again_after_an_interruption(counted, tmp_path):
    ran, statuses = counted
    statuses["b"] = None
    with pytest.raises(KeyboardInterrupt):
        run_all(tmp_path)
    statuses["b"] = 0
    assert set(run_all(tmp_path)) == {"a", "b"}
    assert ran == ["a", "b", "b"]
    run_all(tmp_path)
    assert len(ran) == 3


def test_what_has_failed_is_run_again(counted, tmp_path):
    ran, statuses = counted
    statuses["a"] = 1
    assert run_all(tmp_path)["a"]["status"] == 1
    run_all(tmp_path)
    assert ran == ["a", "b", "a"]


def test_what_is_asked_for_again_keeps_nothing(counted, tmp_path):
    ran, _ = counted
    run_all(tmp_path)
    kept = tmp_path / "whole" / "a.abc.jsonl"
    kept.touch()
    run_all(tmp_path, "--again")
    assert ran == ["a", "b", "a", "b"] and not kept.exists()


def test_smoke_runs_are_stored_apart(counted, tmp_path):
    ran, _ = counted
    run_all(tmp_path)
    run_all(tmp_path, "--quick")
    assert ran == ["a", "b", "a", "b"]


def test_pictures_are_beside_the_page(tmp_path):
    old = tmp_path / "pictures" / "report_workers.svg"
    old.parent.mkdir()
    old.touch()
    other = tmp_path / "pictures" / "architecture.svg"
    other.touch()
    part, path = part_of("shards"), tmp_path / "report.md"
    report_page.write_page([part], stored(part, {"shards": [POINT]}), False, path)
    names = {picture.name for picture in (tmp_path / "pictures").iterdir()}
    assert names == {"architecture.svg", "report_shards.svg"}
    assert "](pictures/report_shards.svg)" in path.read_text()


def test_every_program_exists():
    for part in PARTS:
        program = part.command[0]
        assert program == "persia" or (report._HERE / program).exists()


@pytest.mark.slow
def test_a_part_is_run_and_stored_once(tmp_path):
    command = [sys.executable, native_programs.ROOT / "benchmarks/report.py"]
    command += ["--quick", "--only", "shards", "--folder", tmp_path]

    def run():
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return json.loads(ended.stdout.splitlines()[-1])["figures"]

    first = run()
    assert run() == first == {"shards": pytest.approx(first["shards"])}
    assert "step_cost.py" in (tmp_path / "quick.md").read_text()
