"""`persia worker` as a process."""

import json
import signal
import socket

import grpc
import pytest

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


@pytest.fixture
def start_worker(persia):
    """Starts a worker; gives the command, its data and its control address."""

    def start(shards, *args):
        command = persia("worker", "--port=0", f"--ps={','.join(shards)}", *args)
        (log,) = command.wait_for(
            r"Worker \(pid \d+\) is listening on (\S+); health checks on (\S+)"
        )
        return command, log[1], log[2]

    return start


def check(channel, service):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    return call(b"\x0a" + bytes([len(service)]) + service, timeout=30)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_it_with_code_0(start_ps, start_worker, signum):
    _, shard, _ = start_ps()
    command, _, _ = start_worker([shard])
    command.send(signum)
    assert command.wait() == 0
    assert f"{signum.name}: finishing requests" in command.stderr


def test_starts_before_its_shards_do(start_worker):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        start_worker([f"127.0.0.1:{closed.getsockname()[1]}"])


@pytest.mark.parametrize("service", [b"", b"persia.Worker"])
def test_health_is_serving_until_it_drains(start_worker, service):
    command, _, control = start_worker(["127.0.0.1:1"])
    with grpc.insecure_channel(control) as channel:
        assert check(channel, service) == SERVING
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=60)
        assert next(watch) == SERVING
        command.send(signal.SIGTERM)
        assert list(watch) == [NOT_SERVING]
    assert command.wait() == 0


def test_health_of_a_shard_is_not_its_own(start_worker):
    _, _, control = start_worker(["127.0.0.1:1"])
    with grpc.insecure_channel(control) as channel:
        with pytest.raises(grpc.RpcError) as failure:
            check(channel, b"persia.PS")
    assert failure.value.code() == grpc.StatusCode.NOT_FOUND


def test_port_file_holds_the_data_port_then_the_control_port(start_worker, tmp_path):
    port_file = tmp_path / "worker"
    _, address, control = start_worker(["127.0.0.1:1"], "--port-file", port_file)
    ports = [each.rpartition(":")[2] for each in (address, control)]
    assert port_file.read_text().split() == ports


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


def test_a_port_in_use_ends_it_with_one_line_that_names_it(persia):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = persia("worker", "--ps=a:1", f"--port={port}")
        assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia worker: ")
    assert str(port) in line


def test_a_timeout_that_cannot_be_is_refused(persia):
    command = persia("worker", "--ps=a:1", "--port=0", "--timeout=0")
    assert command.wait() == 1
    assert "timeout must be above 0" in command.stderr


def test_a_parent_that_is_not_the_parent_is_refused(persia):
    command = persia("worker", "--ps=a:1", "--port=0", "--parent=1")
    assert command.wait() == 1
    assert "--parent must be the parent process, got 1" in command.stderr
