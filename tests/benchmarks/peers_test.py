"""The sides of peers.py: what they print, how they fail, and the report's table."""

import json
import os
import subprocess
import sys

import native_programs
import peer_environments
import peer_runs
import peer_training
import peers
import pytest
import report_page
import report_tables
from peer_runs import Side, SideFailed

FIGURES = {
    **{"samples_per_second": 1000.0, "cpu_seconds": 2.0, "cpu_us_per_sample": 20.0},
    **{"peak_memory_mb": 1024.0, "peak_memory_mb_ps_0": 512.0},
    **{"first_loss": 0.7, "last_loss": 0.5},
}
SIDES = {
    "persia": Side("ours", ("ours.py",), ("persia_tf",)),
    "slow": Side("the slow one", ("slow.py",), ("tensorflow", "keras")),
    "absent": Side("the absent one", ("absent.py",), ()),
}
SETUP = {"persia_tf": "1", "tensorflow": "2", "keras": "3"}


def turn(rate):
    return {"figures": {**FIGURES, "samples_per_second": rate}, "setup": SETUP}


SAID = {"persia": [turn(100.0), turn(300.0)], "slow": [turn(50.0)]}
REASONS = {"absent": "pip said:\nno | such version"}


def test_figures_are_medians_over_those_of_this_library():
    figures = peers.figures_of(SIDES, SAID, REASONS)
    assert figures["persia"]["samples_per_second"] == 200
    assert figures["persia"]["over_persia"] == 1
    assert figures["slow"]["over_persia"] == 0.25
    assert figures["slow"]["peak_memory_mb"] == 1536
    assert figures["slow"]["versions"] == {"tensorflow": "2", "keras": "3"}
    assert figures["absent"] == {
        "title": "the absent one",
        "reason": REASONS["absent"],
    }


def test_without_this_library_there_are_no_ratios():
    figures = peers.figures_of(
        SIDES, {"slow": SAID["slow"]}, {**REASONS, "persia": "it crashed"}
    )
    assert "over_persia" not in figures["slow"]
    assert report_tables.peers_table(figures)[2][1] == ""


def test_the_table_has_a_row_for_each_side():
    table = report_tables.peers_table(peers.figures_of(SIDES, SAID, REASONS))
    assert table[2] == ("the slow one", "0.25", "20.0", "1.5", "tensorflow 2, keras 3")
    assert table[3][1] == "could not be shown here: pip said: no / such version"
    lines = report_page.markdown_table(table).splitlines()
    assert len(lines) == 5 and len({line.count("|") for line in lines}) == 1


def test_a_side_that_fails_does_not_end_the_others(monkeypatch):
    ran = []

    def run_side(name, side, options, most_seconds):
        ran.append(name)
        if name == "absent" or (name == "slow" and ran.count(name) == 2):
            raise SideFailed("it failed")
        return turn(100.0)

    monkeypatch.setattr(peers, "run_side", run_side)
    said, reasons = peers.run_in_turn(SIDES, [], turns=3, most_seconds=1)
    assert ran == ["persia", "slow", "absent", "persia", "slow", "persia"]
    assert len(said["persia"]) == 3
    assert reasons == {"slow": "it failed", "absent": "it failed"}


def test_a_side_that_fails_says_why():
    side = Side("x", ("no_such_program.py",), ())
    with pytest.raises(SideFailed, match="status 2: .*no_such_program.py"):
        peer_runs.run_side("x", side, [], most_seconds=60)


@pytest.mark.parametrize("last", [0.7, 0.8, float("nan")])
def test_a_side_must_learn(last):
    with pytest.raises(SideFailed, match="did not learn"):
        peer_runs.check_learned({"first_loss": 0.7, "last_loss": last})


def test_an_environment_that_cannot_be_made_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # pip looks nowhere, so the network is not needed.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    side = Side("x", ("x.py",), (), ("no-such-package-of-persia==1",))
    for _ in range(2):
        with pytest.raises(SideFailed, match="no-such-package-of-persia"):
            peer_runs.run_side("x", side, [], most_seconds=60)


def test_an_environment_is_made_once(tmp_path, monkeypatch):
    made = []

    def make(path, python, requirements):
        path.mkdir(parents=True)
        made.append(requirements)

    monkeypatch.setattr(peer_environments, "_make", make)
    paths = {
        peer_environments.python_of("x", versions, tmp_path)
        for versions in (["a==1"], ["a==1"], ["a==2"])
    }
    assert made == [["a==1"], ["a==2"]]
    assert len(paths) == 2


def test_steps_are_measured_in_windows():
    options = ["--windows", "2", "--seconds", "0", "--batch", "8"]
    arguments = peer_training.parse_arguments("", options)
    losses = (1.0 / step for step in range(1, 1000))
    figures = peer_training.measure(losses, arguments, {"ps_0": os.getpid()})
    assert figures["samples_per_second"] > 0
    assert figures["peak_memory_mb_ps_0"] == pytest.approx(
        figures["peak_memory_mb"], rel=0.1
    )
    # 20 steps of warm-up, and a step for each window.
    assert figures["first_loss"] == pytest.approx(sum(1 / n for n in range(1, 11)) / 10)
    assert figures["last_loss"] == pytest.approx(sum(1 / n for n in range(13, 23)) / 10)


def test_each_program_exists():
    for side in peers.SIDES.values():
        assert (native_programs.ROOT / "benchmarks" / side.program[0]).exists()


def test_all_sides_are_smaller_in_a_quick_run():
    arguments = peers.parse_arguments(["--quick"])
    assert arguments.rows < peers.parse_arguments([]).rows


@pytest.mark.slow
def test_the_sides_of_this_environment_train(tmp_path):
    only = ["--only", "persia", "--only", "tf_keras", "--only", "parameter_server"]
    ended = subprocess.run(
        [
            sys.executable,
            native_programs.ROOT / "benchmarks/peers.py",
            "--quick",
            *only,
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    figures = json.loads(ended.stdout.splitlines()[-1])["figures"]
    assert list(figures) == only[1::2]
    assert all(of_side["over_persia"] > 0 for of_side in figures.values()), figures
