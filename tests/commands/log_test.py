"""What the commands log, by the formatter and by real shards."""

import contextlib
import ctypes
import logging
import re
import socket
import sys
import threading

import pytest
from absl import logging as absl_logging

from persia_tf.native import capi, events
from persia_tf.processes import log

LINE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d (INFO|WARNING|ERROR) "


def record(message, *args, level=logging.INFO, **kwargs):
    return logging.LogRecord("persia.ps", level, "", 0, message, args, None, **kwargs)


def test_a_line_has_time_level_logger_and_place():
    formatter = log.Formatter()
    assert re.fullmatch(
        LINE + "persia.ps: made 3 tables", formatter.format(record("made %d tables", 3))
    )
    formatter.place = "127.0.0.1:7000"
    assert re.fullmatch(
        LINE + "persia.ps 127.0.0.1:7000: gone", formatter.format(record("gone"))
    )


def test_records_of_abseil_have_the_name_of_the_process():
    of_abseil = record("gone")
    of_abseil.name = absl_logging.get_absl_logger().name
    text = log.Formatter("persia.serve").format(of_abseil)
    assert re.fullmatch(LINE + "persia.serve: gone", text)


def test_a_message_is_one_line():
    assert log.Formatter().format(record("a\n  b")).endswith(": a   b")


def test_a_traceback_is_kept():
    try:
        raise ValueError("broken")
    except ValueError:
        failure = record("failed")
        failure.exc_info = sys.exc_info()
    lines = log.Formatter().format(failure).splitlines()
    assert lines[0].endswith(": failed")
    assert lines[-1] == "ValueError: broken"


@pytest.fixture
def records():
    """Gives a logger of the test's own, and the list of its records."""
    logger = logging.getLogger("persia.test.events")
    kept = []
    handler = logging.Handler()
    handler.emit = kept.append
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    yield logger, kept
    logger.removeHandler(handler)


def test_an_event_log_ends_without_events(records):
    logger, kept = records
    of_test = "events-of-this-test"  # Servers of other tests may still run.
    events.EventLog(logger, of_test).close()
    assert kept == []
    assert of_test not in [thread.name for thread in threading.enumerate()]


def test_every_line_of_a_shard_is_formatted(start_ps, terminate):
    command, address, _ = start_ps("--checkpoint-root=.")
    _table(address)
    with socket.create_connection(_native_address(address)) as offender:
        offender.sendall(b"GET / HTTP/1.1\r\n\r\n" + b"x" * 64)
        with contextlib.suppress(ConnectionError):
            offender.recv(1)
    command.wait_for(r"WARNING persia.ps \S+: dropped 127.0.0.1:\d+: ")
    assert terminate(command) == 0
    lines = command.stderr.splitlines()
    assert len(lines) >= 4
    for line in lines:
        assert re.match(LINE + r"persia\.ps( 127\.0\.0\.1:\d+)?: \S", line), line
    (made,) = [line for line in lines if "made table" in line]
    assert f'persia.ps {address}: made table "t": output_dim=2' in made


def test_requests_are_not_logged(start_ps, terminate):
    command, address, _ = start_ps()
    _table(address, rows=100)
    assert terminate(command) == 0
    lines = command.stderr.splitlines()
    assert [line for line in lines if "made table" in line]
    assert len(lines) == 4  # Listening, a table made, ending, ended.


def test_refused_clients_are_logged_without_their_token(start_ps, tmp_path, terminate):
    token, other = tmp_path / "token", tmp_path / "other"
    for each in (token, other):
        each.write_text(each.name * 10)
        each.chmod(0o600)
    command, address, _ = start_ps(f"--auth-token-file={token}")
    with pytest.raises(Exception, match="token"):
        _table(address, token=other.read_bytes())
    command.wait_for(r"WARNING persia.ps \S+: refused 127.0.0.1:\d+: ")
    assert terminate(command) == 0
    for secret in (token, other):
        assert secret.read_text() not in command.stderr


def _native_address(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def _table(address, rows=0, token=b""):
    native = capi.library()
    name = capi.utf8(f"log-test-{address}")
    options = capi.SessionOptions(
        addresses=capi.utf8(address),
        timeout_seconds=30,
        wire_dtype=b"float32",
        auth_token=token,
    )
    native.persia_session_open(name, ctypes.byref(options))
    try:
        settings = capi.TableSettings(dim=2, initializer=b"zeros", optimizer=b"sgd")
        count = ctypes.c_uint64()
        native.persia_session_create_table(
            name, b"t", ctypes.byref(settings), ctypes.byref(count)
        )
        for at in range(rows):
            ids = (ctypes.c_int64 * 1)(at)
            weights = (ctypes.c_float * 2)(1, 2)
            native.persia_session_assign(name, b"t", 2, 0, ids, 1, weights, None)
    finally:
        native.persia_session_close(name)
