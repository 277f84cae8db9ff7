"""`persia worker` as a process: tests that are not in running_test.py."""

import json
import socket

import pytest


@pytest.fixture
def start_worker(start_server):
    """Starts a worker; gives the command, and its data and control addresses."""
    return lambda shards, *args: start_server(
        "worker", f"--ps={','.join(shards)}", *args
    )


def test_starts_before_its_shards_do(start_worker):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        start_worker([f"127.0.0.1:{closed.getsockname()[1]}"])


def test_status_shows_the_worker_and_then_its_shards(persia, start_ps, start_worker):
    shards = [start_ps()[1] for _ in range(2)]
    _, address, _ = start_worker(shards, "--cache-rows=100")
    command = persia("status", "--json", address)
    assert command.wait() == 0, command.stderr
    processes = json.loads(command.stdout)["processes"]
    assert [each["address"] for each in processes] == [address, *shards]


def test_status_shows_shards_behind_several_workers_once(
    persia, start_ps, start_worker
):
    shards = [start_ps()[1] for _ in range(2)]
    workers = [start_worker(shards)[1] for _ in range(2)]
    command = persia("status", "--json", ",".join(workers))
    assert command.wait() == 0, command.stderr
    processes = json.loads(command.stdout)["processes"]
    assert [each["address"] for each in processes] == [workers[0], *shards, workers[1]]


def test_status_names_the_shard_that_is_down(persia, start_ps, start_worker):
    _, shard, _ = start_ps()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        down = f"127.0.0.1:{closed.getsockname()[1]}"
        _, address, _ = start_worker([shard, down], "--timeout=0.5")
        command = persia("status", address)
        assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert down in line


def test_a_timeout_that_cannot_be_is_refused(persia):
    command = persia("worker", "--ps=a:1", "--port=0", "--timeout=0")
    assert command.wait() == 2
    assert "argument --timeout: must be above 0" in command.stderr
