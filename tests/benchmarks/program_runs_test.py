"""Programs whose last line is a result: how they end, and how they are ended."""

import json
import re
import sys
import time

import processes
import program_runs
import pytest

CHILD = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], {options})
print("started", file=sys.stderr, flush=True)
time.sleep({seconds})
"""


def run(program, folder, **options):
    (folder / "program.py").write_text(program)
    command = [sys.executable, str(folder / "program.py")]
    return program_runs.run(command, **options)


def test_the_last_line_is_the_result(tmp_path):
    result = {"benchmark": "x", "figures": {"rate": 1.5}}
    ended = run(f"print('a log')\nprint({json.dumps(result)!r})", tmp_path)
    assert ended == program_runs.Ended("", 0, result)


@pytest.mark.parametrize(
    ("program", "status", "reason"),
    [
        ("import no_such", 1, "status 1: ModuleNotFoundError: .*no_such"),
        ("print('done')", 0, "its last line is not a result: done"),
        ("print(3)", 0, "not a result: 3"),
        ("", 0, "not a result"),
        ("import os; os.kill(os.getpid(), 9)", -9, "status -9: it printed nothing"),
    ],
)
def test_a_program_without_a_result_says_why(program, status, reason, tmp_path):
    ended = run(program, tmp_path)
    assert ended.status == status and not ended.result
    assert re.search(reason, ended.reason)


def test_a_program_that_fails_may_have_a_result(tmp_path):
    ended = run("print('{\"lost\": 1}')\nraise SystemExit('rows are lost')", tmp_path)
    assert ended.reason == "it ended with status 1: rows are lost"
    assert ended.result == {"lost": 1}


def test_errors_are_shown_as_they_come(tmp_path, capfd):
    run("import sys; print('turn 1', file=sys.stderr)", tmp_path)
    assert capfd.readouterr().err == "turn 1\n"


@pytest.mark.parametrize("options", ["", "start_new_session=True"])
def test_a_program_that_hangs_is_ended_with_its_processes(
    options, tmp_path, monkeypatch
):
    killed = []
    descendants = processes.descendants

    def remembered(pid):
        killed.extend(descendants(pid))
        return killed

    monkeypatch.setattr(processes, "descendants", remembered)
    program = CHILD.format(options=options, seconds=600)
    ended = run(program, tmp_path, most_seconds=5.0)
    assert ended.reason == "it did not end in 5 s"
    give_up = time.monotonic() + 60
    while not all(map(_has_ended, killed)):
        assert time.monotonic() < give_up
        time.sleep(0.01)


def test_what_a_program_leaves_running_is_ended(tmp_path):
    # Else its end would not be seen, since what it left keeps its output open.
    ended = run(CHILD.format(options="", seconds=0), tmp_path, most_seconds=60.0)
    assert ended.reason.startswith("its last line is not a result")


def _has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            # Until its new parent has asked for its status, it is a zombie.
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
