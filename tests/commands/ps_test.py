"""`persia ps` as a process."""

import os
import signal
import socket

import grpc
import pytest

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def port_of(address):
    return int(address.rpartition(":")[2])


def check(channel, service):
    call = channel.unary_unary("/grpc.health.v1.Health/Check")
    return call(b"\x0a" + bytes([len(service)]) + service, timeout=30)


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_stop_ends_it_with_code_0(start_ps, signum):
    command, _, _ = start_ps()
    command.send(signum)
    assert command.wait() == 0
    assert f"{signum.name}: finishing requests" in command.stderr


def test_accepts_connections_on_its_data_port(start_ps):
    _, address, _ = start_ps()
    connect(address).close()


def test_listens_on_loopback_alone_unless_told(start_ps):
    _, address, control = start_ps()
    for each in (address, control):
        host, _, port = each.rpartition(":")
        assert host == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            connect(f"127.0.0.2:{port}")


def test_listens_on_the_host_it_is_told(start_ps):
    _, address, control = start_ps("--host=127.0.0.2")
    for each in (address, control):
        assert each.startswith("127.0.0.2:")
        connect(each).close()


def test_port_file_holds_the_data_port_then_the_control_port(start_ps, tmp_path):
    folder = tmp_path / "ports"
    folder.mkdir()
    _, address, control = start_ps("--port-file", folder / "ps")
    lines = (folder / "ps").read_text().split("\n")
    assert lines == [str(port_of(address)), str(port_of(control)), ""]
    assert os.listdir(folder) == ["ps"]


def test_port_file_that_cannot_be_written_ends_it_with_one_line(persia, tmp_path):
    command = persia("ps", "--port=0", "--port-file", tmp_path / "absent" / "ps")
    assert command.wait() == 1
    assert len(command.stderr.splitlines()) == 1
    assert "absent" in command.stderr


def test_port_file_of_an_earlier_shard_is_not_left_to_mislead(persia, tmp_path):
    port_file = tmp_path / "ps.port"
    port_file.write_text("1\n2\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = persia(
            "ps", "--port", taken.getsockname()[1], "--port-file", port_file
        )
        assert command.wait() == 1
    assert not port_file.exists()


@pytest.mark.parametrize("option", ["--port", "--control-port"])
def test_a_port_in_use_ends_it_with_one_line_that_names_it(persia, option):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        # Of a repeated option the last one counts.
        command = persia("ps", "--port=0", f"{option}={port}")
        assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia ps: ")
    assert str(port) in line


def test_two_shards_never_share_a_control_port(persia, start_ps):
    _, _, control = start_ps()
    command = persia("ps", "--port=0", "--control-port", port_of(control))
    assert command.wait() == 1
    assert control in command.stderr


@pytest.mark.parametrize("option", ["--port", "--control-port"])
@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_out_of_range_is_refused(persia, option, port):
    command = persia("ps", f"{option}={port}")
    assert command.wait() == 2
    assert f"argument {option}: a port is from 0 to 65535, got {port}" in command.stderr


@pytest.mark.parametrize("service", [b"", b"persia.PS"])
def test_health_is_serving(start_ps, service):
    _, _, control = start_ps()
    with grpc.insecure_channel(control) as channel:
        assert check(channel, service) == SERVING


def test_health_of_an_unknown_service_is_not_found(start_ps):
    _, _, control = start_ps()
    with grpc.insecure_channel(control) as channel:
        with pytest.raises(grpc.RpcError) as failure:
            check(channel, b"persia.Other")
    assert failure.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_health_watch_hears_of_the_end(start_ps):
    command, _, control = start_ps()
    with grpc.insecure_channel(control) as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"", timeout=60)
        assert next(watch) == SERVING
        command.send(signal.SIGTERM)
        assert list(watch) == [NOT_SERVING]
    assert command.wait() == 0


def test_a_parent_that_is_not_the_parent_is_refused(persia):
    command = persia("ps", "--port=0", "--parent=1")
    assert command.wait() == 1
    assert "--parent must be the parent process, got 1" in command.stderr


def test_never_imports_tensorflow(persia):
    command = persia("ps", "--port=0", python_options=["-X", "importtime"])
    command.wait_for("listening on")
    command.send(signal.SIGTERM)
    assert command.wait() == 0
    imported = {
        line.rpartition("|")[2].strip()
        for line in command.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "grpc" in imported
    assert "tensorflow" not in imported


def test_takes_the_logging_options_of_absl(persia, tmp_path, wait_until):
    port_file = tmp_path / "ps.port"
    command = persia("ps", "--port=0", "--verbosity=-1", "--port-file", port_file)
    wait_until(port_file.exists, "the port file")
    command.send(signal.SIGTERM)
    assert command.wait() == 0
    assert command.stderr == ""
