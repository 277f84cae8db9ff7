"""`persia ps` as a process: tests that are not in running_test.py."""

import resource
import signal
import socket

import pytest

# `persia` that may have few open files, unless it asks for more. The arguments that
# start the fixture's own `persia` are removed.
FEW_FILES = """
import resource, sys
from persia_tf.commands import main
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
del sys.argv[1:3]
main.main()
"""


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def port_of(address):
    return int(address.rpartition(":")[2])


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


def test_raises_its_limit_of_open_files(persia):
    options = ("--port=0", "--max-connections=700")
    command = persia("ps", *options, python_options=("-c", FEW_FILES))
    command.wait_for("listening on")
    soft, hard = resource.prlimit(command.pid, resource.RLIMIT_NOFILE)
    assert soft == hard or soft > 700


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("unheard-of://bucket/a", "cannot reach unheard-of://bucket/a"),
        ("file:///a", "without file://"),
        ("s3://key:hidden@bucket", "must not contain a password"),
    ],
)
def test_a_root_that_cannot_be_reached_ends_it(persia, root, message):
    command = persia("ps", "--port=0", "--checkpoint-root", root)
    assert command.wait() == 1
    assert len(command.stderr.splitlines()) == 1
    assert message in command.stderr
    assert "hidden" not in command.stderr


def test_port_file_in_no_folder_is_refused(persia, tmp_path):
    absent = tmp_path / "absent"
    command = persia("ps", "--port=0", "--port-file", absent / "ps")
    assert command.wait() == 2
    told = f"argument --port-file: there is no folder '{absent}': create it first"
    assert told in command.stderr


def test_port_file_that_is_a_folder_is_refused(persia, tmp_path):
    command = persia("ps", "--port=0", "--port-file", tmp_path)
    assert command.wait() == 2
    assert "argument --port-file: must be a file, got the folder" in command.stderr


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--io-threads=0", "argument --io-threads: must be at least 1, got 0"),
        (
            "--max-message-bytes=2GiB",
            "argument --max-message-bytes: must be at most 1073741824 bytes, got 2GiB",
        ),
        ("--memory-limit=much", "a share of the memory that this process may use"),
    ],
)
def test_an_option_out_of_its_range_is_refused_by_its_name(persia, option, told):
    command = persia("ps", "--port=0", option)
    assert command.wait() == 2
    assert told in command.stderr


@pytest.mark.parametrize(
    "option",
    ["--recovery=log", "--log-sync=system", "--log-size=1000", "--lose-log-from=5"],
)
def test_options_about_recovery_need_a_folder(persia, option):
    flag, value = option.split("=")
    command = persia("ps", "--port=0", option)
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert f"persia ps: {flag} needs --recovery-folder" in line
    assert line.endswith(f"Received: {flag} {value}")


def test_port_file_of_an_earlier_shard_is_not_left_to_mislead(persia, tmp_path):
    port_file = tmp_path / "ps.port"
    port_file.write_text("1\n2\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = persia(
            "ps", "--port", taken.getsockname()[1], "--port-file", port_file
        )
        assert command.wait() == 1
    assert not port_file.exists()


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
    assert f"argument {option}: must be from 0 to 65535, got {port}" in command.stderr


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


def test_a_quiet_log_has_nothing_of_a_good_run(persia, tmp_path, wait_until):
    port_file = tmp_path / "ps.port"
    command = persia("ps", "--port=0", "--log-level=warning", "--port-file", port_file)
    wait_until(port_file.exists, "the port file")
    command.send(signal.SIGTERM)
    assert command.wait() == 0
    assert command.stderr == ""
