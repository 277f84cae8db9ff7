"""What `persia ps` and `persia worker` do alike, as processes."""

import os
import signal
import socket

import grpc
import pytest

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"

# For each role: its service in health checks, and the options that it does not start
# without. (A worker does not wait for its shards.)
SERVICES = {"ps": b"persia.PS", "worker": b"persia.Worker"}
NEEDED = {"ps": [], "worker": ["--ps=127.0.0.1:1"]}


@pytest.fixture(params=sorted(SERVICES))
def role(request):
    return request.param


@pytest.fixture
def run(role, persia):
    """Starts the process, on any free port if none is given; gives its command."""
    return lambda *args: persia(role, *NEEDED[role], "--port=0", *args)


@pytest.fixture
def start(role, start_server):
    """Starts it and waits until it listens; also gives data and control addresses."""
    return lambda *args: start_server(role, *NEEDED[role], *args)


def check(channel, service):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    return call(b"\x0a" + bytes([len(service)]) + service, timeout=30)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_it_with_code_0(start, signum):
    command, _, _ = start()
    command.send(signum)
    assert command.wait() == 0
    assert f"{signum.name}: finishing requests" in command.stderr


def test_health_is_serving_until_it_drains(start, role):
    command, _, control = start()
    with grpc.insecure_channel(control) as channel:
        assert check(channel, b"") == SERVING
        assert check(channel, SERVICES[role]) == SERVING
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=60)
        assert next(watch) == SERVING
        command.send(signal.SIGTERM)
        assert list(watch) == [NOT_SERVING]
    assert command.wait() == 0


def test_health_of_another_service_is_not_found(start, role):
    (other,) = set(SERVICES.values()) - {SERVICES[role]}
    _, _, control = start()
    with grpc.insecure_channel(control) as channel:
        with pytest.raises(grpc.RpcError) as failure:
            check(channel, other)
    assert failure.value.code() == grpc.StatusCode.NOT_FOUND


def test_port_file_holds_the_data_port_then_the_control_port(start, tmp_path):
    folder = tmp_path / "ports"
    folder.mkdir()
    _, *addresses = start("--port-file", folder / "file")
    ports = [address.rpartition(":")[2] for address in addresses]
    assert (folder / "file").read_text().split("\n") == [*ports, ""]
    assert os.listdir(folder) == ["file"]


@pytest.mark.parametrize("option", ["--port", "--control-port"])
def test_a_port_in_use_ends_it_with_one_line_that_names_it(run, role, option):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        # If an option is repeated, the last value counts.
        command = run(f"{option}={port}")
        assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith(f"persia {role}: ")
    assert str(port) in line


def test_a_parent_that_is_not_the_parent_is_refused(run):
    command = run("--parent=1")
    assert command.wait() == 1
    assert "--parent must be the parent process, got 1" in command.stderr
