"""`persia launch --workers`: a program as several workers of TensorFlow."""

import json
import os
import re
import signal
import sys

import pytest

# Prints which worker it is, and waits until it is told to end.
WAITER = """
import json, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
print("worker", index, flush=True)
signal.sigwait([signal.SIGTERM])
print("told", index, flush=True)
"""


@pytest.fixture
def launch(persia):
    def start(program, *options):
        return persia("launch", *options, "--", sys.executable, "-c", program)

    return start


def others_lines(command, pattern):
    return re.findall(rf"(?m)^\[program \d+\] {pattern}$", command.stderr)


def test_each_worker_finds_all_of_them_and_the_shards(launch):
    command = launch(
        "import os; print(os.environ['TF_CONFIG'], os.environ['PERSIA_PS'])",
        *("--ps=2", "--workers=3"),
    )
    assert command.wait() == 0
    said = [command.stdout.rstrip("\n"), *others_lines(command, r"(\{.*)")]
    configs, shards = zip(*(line.rsplit(" ", 1) for line in said))
    configs = [json.loads(config) for config in configs]
    tasks = sorted(config["task"]["index"] for config in configs)
    assert tasks == [0, 1, 2]
    assert {config["task"]["type"] for config in configs} == {"worker"}
    [workers] = {tuple(config["cluster"]["worker"]) for config in configs}
    assert len(set(workers)) == 3
    assert len(set(shards)) == 1 and shards[0].count(":") == 2


def test_one_worker_is_the_program_as_it_is(launch, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "the user's")
    command = launch("import os; print(os.environ['TF_CONFIG'])", "--workers=1")
    assert command.wait() == 0
    assert command.stdout == "the user's\n"


def test_it_waits_for_all_of_them(launch, tmp_path):
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    command = launch(
        "import json, os\n"
        "index = json.loads(os.environ['TF_CONFIG'])['task']['index']\n"
        f"if index: open({str(gate)!r}).read()\n"
        "print('end', index)",
        "--workers=2",
    )
    command.wait_for("end 0", stream="stdout")
    gate.write_text("go on")
    assert command.wait() == 0
    assert others_lines(command, "end 1")


@pytest.mark.parametrize("failing", [0, 1])
def test_one_that_fails_ends_all(launch, alive, failing):
    command = launch(
        "import json, os, time\n"
        "print('pid', os.getpid(), flush=True)\n"
        f"if json.loads(os.environ['TF_CONFIG'])['task']['index'] == {failing}:\n"
        "    raise SystemExit(3)\n"
        "time.sleep(600)",
        "--workers=2",
    )
    assert command.wait() == 3
    pids = re.findall(r"pid (\d+)$", command.stdout + command.stderr, re.M)
    assert not any(alive(int(pid)) for pid in pids)


def test_sigterm_reaches_all_of_them(launch):
    command = launch(WAITER, "--workers=2")
    command.wait_for("worker 0", stream="stdout")
    command.wait_for("worker 1")
    command.send(signal.SIGTERM)
    assert command.wait() == 0
    assert "told 0" in command.stdout
    assert others_lines(command, "told 1")


def test_no_workers_are_refused(launch):
    command = launch("", "--workers=0")
    assert command.wait() == 2
    assert "--workers" in command.stderr
