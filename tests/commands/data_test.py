"""`persia data` as processes: a dispatcher, and data workers."""

import signal
import socket
import subprocess
import sys
from concurrent import futures

import grpc
import pytest

LISTENING = {
    "dispatcher": r"(?m)Dispatcher \(pid (\d+)\) is listening on (\S+)$",
    "worker": r"(?m)Data worker \(pid (\d+)\) is listening on (\S+)$",
}

# Reads a dataset that data workers make, and checks its elements. After the
# first element it waits for a line, if it is told to.
TRAINER = """
import sys
import tensorflow as tf
dispatcher, count, waits = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "wait"
dataset = tf.data.Dataset.range(count).map(lambda item: 2 * item)
dataset = dataset.apply(
    tf.data.experimental.service.distribute(
        "distributed_epoch", f"grpc://{dispatcher}", max_outstanding_requests=1
    )
)
found = []
for item in dataset.as_numpy_iterator():
    found.append(int(item))
    if waits and len(found) == 1:
        print("begun", flush=True)
        sys.stdin.readline()
assert sorted(found) == list(range(0, 2 * count, 2)), found
print("complete", flush=True)
"""


@pytest.fixture
def start(persia):
    """Starts a server, on any free port if none is given; gives it and its address."""

    def run(action, *args):
        command = persia("data", action, "--port=0", *args)
        (log,) = command.wait_for(LISTENING[action])
        assert int(log[1]) == command.pid
        return command, log[2]

    return run


@pytest.fixture
def trainer():
    """Starts programs that read from data workers; ends them with the test."""
    started = []

    def run(dispatcher, count, waits=False):
        process = subprocess.Popen(
            [
                *(sys.executable, "-c", TRAINER, dispatcher, str(count)),
                "wait" if waits else "go",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def outcome(process):
    """The exit code of a trainer, and the rest of its output."""
    output, _ = process.communicate("go on\n", timeout=120)
    return process.returncode, output


def test_trainers_read_what_two_workers_make(start, trainer, terminate):
    dispatcher, address = start("dispatcher")
    workers = [start("worker", f"--dispatcher={address}") for _ in range(2)]
    assert len({address, *(where for _, where in workers)}) == 3
    assert outcome(trainer(address, 100)) == (0, "complete\n")
    for command, _ in [*workers, (dispatcher, address)]:
        assert terminate(command) == 0
        assert command.stderr.rstrip().endswith("Stopped")


@pytest.mark.slow
def test_a_killed_dispatcher_goes_on_from_its_journal(start, trainer, tmp_path):
    folder = f"--work-dir={tmp_path}/journal"
    dispatcher, address = start("dispatcher", folder)
    start("worker", f"--dispatcher={address}")
    reading = trainer(address, 500, waits=True)
    assert reading.stdout.readline() == "begun\n"
    dispatcher.send(signal.SIGKILL)
    dispatcher.wait()
    port = address.rpartition(":")[2]
    _, again = start("dispatcher", folder, f"--port={port}")
    assert again == address
    assert outcome(reading) == (0, "complete\n")


def test_a_worker_waits_for_its_dispatcher(persia, unused_address, terminate):
    command = persia("data", "worker", "--port=0", f"--dispatcher={unused_address}")
    command.wait_for(f"Connecting to the dispatcher {unused_address}")
    assert terminate(command) == 0
    assert "is listening" not in command.stderr


def test_a_worker_finds_the_dispatcher_in_the_environment(persia, start):
    _, address = start("dispatcher")
    command = persia("data", "worker", "--port=0", env={"PERSIA_DATA": address})
    command.wait_for(LISTENING["worker"])


def test_another_server_is_no_dispatcher(persia):
    other = grpc.server(futures.ThreadPoolExecutor(1))
    address = f"127.0.0.1:{other.add_insecure_port('127.0.0.1:0')}"
    other.start()
    try:
        command = persia("data", "worker", "--port=0", f"--dispatcher={address}")
        assert command.wait() == 1
    finally:
        other.stop(None)
    assert f"another server listens there. Received: {address}" in command.stderr


def test_the_port_file_holds_the_port(start, tmp_path):
    _, address = start("dispatcher", f"--port-file={tmp_path}/file")
    assert (tmp_path / "file").read_text() == address.rpartition(":")[2] + "\n"


def test_a_port_in_use_is_told(persia):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = persia("data", "dispatcher", f"--port={port}")
        assert command.wait() == 1
    line = command.stderr.splitlines()[-1]
    assert line.startswith(f"persia data: cannot listen on port {port}")
    assert line.endswith("choose another port, or 0 for any free one")


@pytest.mark.parametrize(
    "args", [["dispatcher"], ["worker", "--dispatcher=127.0.0.1:1"]]
)
def test_other_machines_need_consent(persia, args):
    command = persia("data", *args, "--port=0", "--host=0.0.0.0")
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert "neither a token nor TLS" in line
    assert "--host 0.0.0.0" in line
    assert line.endswith("give --insecure")


def test_a_server_that_other_machines_reach_says_so(persia):
    command = persia("data", "dispatcher", "--port=0", "--host=0.0.0.0", "--insecure")
    command.wait_for(r"WARNING .* every program that reaches 0\.0\.0\.0:\d+ can run")
