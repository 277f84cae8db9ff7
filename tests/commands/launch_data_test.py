"""`persia launch --data-workers`: data workers beside a program."""

import os
import signal
import sys

import pytest

LISTENING = (
    r"(?m)^\[data (dispatcher|worker) (\d+)\] .* \(pid (\d+)\) is listening on (\S+)$"
)

# Reads from the data workers, once a file exists.
READER = """
import os, sys, time
print(os.environ["PERSIA_DATA"], flush=True)
launch = os.getppid()
while not os.path.exists(sys.argv[1]) and os.getppid() == launch:
    time.sleep(0.01)
import tensorflow as tf
dataset = tf.data.Dataset.range(20).apply(
    tf.data.experimental.service.distribute(
        "distributed_epoch", "grpc://" + os.environ["PERSIA_DATA"]
    )
)
print(sorted(map(int, dataset.as_numpy_iterator())))
"""


@pytest.fixture
def launch(persia, tmp_path):
    def start(*options, **kwargs):
        program = [sys.executable, "-c", READER, tmp_path / "go_on"]
        return persia("launch", *options, "--", *program, **kwargs)

    return start


def listening(command, count):
    """The process ids and addresses of so many servers, by name and number."""
    return [
        (f"{match[1]} {match[2]}", int(match[3]), match[4])
        for match in command.wait_for(LISTENING, count)
    ]


def test_the_program_reads_what_they_make_although_all_were_killed(
    launch, tmp_path, alive
):
    command = launch("--data-workers=2")
    first = listening(command, 3)
    assert sorted(name for name, _, _ in first) == [
        *("dispatcher 0", "worker 0", "worker 1")
    ]
    for name, pid, address in first:
        os.kill(pid, signal.SIGKILL)
        command.wait_for(
            rf"ERROR persia.launch: data {name} \({address}, pid {pid}\) ended with "
            "exit code 137; it is being restarted"
        )
    again = listening(command, 6)[3:]
    assert {(name, address) for name, _, address in again} == {
        (name, address) for name, _, address in first
    }
    (tmp_path / "go_on").touch()
    assert command.wait() == 0
    dispatcher, elements = command.stdout.splitlines()
    [expected] = [address for name, _, address in first if name == "dispatcher 0"]
    assert dispatcher == expected
    assert elements == str(list(range(20)))
    assert f"PERSIA_DATA={expected}" in command.stderr
    assert not any(alive(pid) for _, pid, _ in [*first, *again])


def test_without_them_the_program_keeps_a_dispatcher_of_its_own(launch, tmp_path):
    command = launch(env={"PERSIA_DATA": "10.0.0.1:7300"})
    command.wait_for("10.0.0.1:7300", stream="stdout")
