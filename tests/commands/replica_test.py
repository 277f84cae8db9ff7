"""`persia ps --replica-of` as a process."""

import ctypes
import socket

import grpc
import pytest

from persia_tf.client.session import SessionOptions
from persia_tf.native import capi

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


def check(control):
    with grpc.insecure_channel(control) as channel:
        call = channel.unary_unary("/grpc.health.v1.Health/Check")
        return call(b"", timeout=30)


def make_table(address, name, token_file=""):
    native = capi.library()
    session = capi.utf8(f"{name} on {address}")
    options = SessionOptions(auth_token_file=str(token_file)).native(address)
    native.persia_session_open(session, ctypes.byref(options))
    try:
        settings = capi.TableSettings(dim=4, initializer=b"zeros", optimizer=b"sgd")
        native.persia_session_create_table(
            *(session, capi.utf8(name)),
            *(ctypes.byref(settings), ctypes.byref(ctypes.c_uint64())),
        )
    finally:
        native.persia_session_close(session)


def test_follows_its_shard_and_says_so(
    persia, start_ps, wait_until, token_file, terminate
):
    path = token_file(b"a token of replicas")
    token = f"--auth-token-file={path}"
    _, source, _ = start_ps(token)
    make_table(source, "clicks", path)
    command, replica, control = start_ps(f"--replica-of={source}", token)
    wait_until(lambda: check(control) == SERVING, "the replica to serve")
    status = persia("status", token, replica)
    assert status.wait() == 0, status.stderr
    assert f"{replica} is a replica of {source}, " in status.stdout
    assert " s behind." in status.stdout
    assert "clicks" in status.stdout
    assert command.stderr.count("INFO") >= 1
    assert "Replica (pid" in command.stderr
    assert terminate(command) == 0


def test_does_not_serve_before_it_had_all_rows(persia, start_ps, terminate, wait_until):
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        source = f"127.0.0.1:{nobody.getsockname()[1]}"
    command, replica, control = start_ps(f"--replica-of={source}")
    assert check(control) == NOT_SERVING
    status = persia("status", replica)
    assert status.wait() == 0, status.stderr
    assert (
        f"a replica of {source}, which has not received all rows yet." in status.stdout
    )
    start_ps(f"--port={source.rpartition(':')[2]}")
    wait_until(lambda: check(control) == SERVING, "the replica to serve")
    assert terminate(command) == 0


@pytest.mark.parametrize("option", ["--checkpoint-root=/root", "--recovery-folder=/r"])
def test_what_a_shard_keeps_is_refused(persia, option):
    command = persia("ps", "--port=0", "--replica-of=127.0.0.1:1", option)
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert "--replica-of cannot be combined with --checkpoint-root" in line
    assert "127.0.0.1:1" in line


@pytest.mark.parametrize("source", ["nothing", "a:1,b:2"])
def test_a_source_that_is_none_is_refused(persia, source):
    command = persia("ps", "--port=0", f"--replica-of={source}")
    assert command.wait() == 2
    assert "--replica-of" in command.stderr
