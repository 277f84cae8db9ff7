"""--memory-limit: which sizes it takes, and what a shard does at the limit."""

import argparse
import ctypes
import os
import resource
import subprocess
import sys

import pytest

from persia_tf import errors
from persia_tf.native import capi
from persia_tf.processes import memory


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8GiB", 8 * 2**30),
        ("1.5 MiB", 3 * 2**19),
        ("2KiB", 2048),
        ("1TiB", 2**40),
        ("8GB", 8 * 10**9),
        ("500kB", 500_000),
        ("0.5gib", 2**29),
        ("1000", 1000),
        ("7B", 7),
        ("unlimited", 0),
    ],
)
def test_reads_sizes(text, expected):
    assert memory.limit(text) == expected


@pytest.mark.parametrize(
    "text", ["", "0", "8 gigs", "-1GiB", "8G", "nan", "0.1", 400 * "9", 400 * "9" + "B"]
)
def test_other_texts_are_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="must be a number of bytes"):
        memory.limit(text)


def test_the_refusal_of_a_limit_names_every_form_that_it_may_have():
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        memory.limit("much")
    for form in ('"8GiB"', '"512MB"', '"1000000"', '"50%"', '"unlimited"'):
        assert form in str(raised.value)


def test_a_size_is_no_share():
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        memory.size("50%")
    assert "unlimited" not in str(raised.value)


def test_a_share_is_of_the_memory_there_is():
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < memory.total_bytes() <= machine
    assert memory.limit("50%") == memory.total_bytes() // 2
    for text in ("0%", "101%"):
        with pytest.raises(argparse.ArgumentTypeError, match="above 0% and at most"):
            memory.limit(text)


@pytest.mark.parametrize("kind", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_the_processs_own_limits_count(kind):
    limit = 2**31
    program = "from persia_tf.processes import memory; print(memory.total_bytes())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) <= limit


def test_the_shards_of_a_machine_share_it():
    assert memory.share_of(1) == "80%"
    assert memory.share_of(4) == "20%"


@pytest.mark.parametrize(
    ("total", "limit", "warns"),
    [
        (512 << 20, 0, False),
        (512 << 20, 384 << 20, False),
        (512 << 20, (384 << 20) + 1, True),
        (64 << 20, 51 << 20, True),
        (64 << 20, 80 << 20, True),
    ],
)
def test_a_limit_that_leaves_too_little_is_told(monkeypatch, total, limit, warns):
    monkeypatch.setattr(memory, "total_bytes", lambda: total)
    warning = memory.shortage(limit)
    assert (warning is not None) == warns
    if warns:
        assert f"{limit >> 20} MiB of the {total >> 20} MiB" in warning


def test_a_shard_that_may_take_all_memory_warns_in_its_log(start_ps):
    command, _, _ = start_ps("--memory-limit=100%")
    command.wait_for(r"WARNING persia.ps:? tables may take \d+ MiB of the \d+ MiB")


@pytest.fixture
def session(start_ps):
    """A session with a shard of little memory; gives the command and its name."""
    command, address, _ = start_ps("--memory-limit=8MiB", "--max-tables=2")
    native = capi.library()
    name = capi.utf8(f"memory-test-{address}")
    options = capi.SessionOptions(
        addresses=capi.utf8(address), timeout_seconds=60, wire_dtype=b"float32"
    )
    native.persia_session_open(name, ctypes.byref(options))
    yield command, name
    native.persia_session_close(name)


def make_table(name, table, **settings):
    table_settings = capi.TableSettings(
        dim=32, initializer=b"zeros", optimizer=b"adagrad", **settings
    )
    capi.library().persia_session_create_table(
        name, table, ctypes.byref(table_settings), ctypes.byref(ctypes.c_uint64())
    )


def assign(name, table, begin, count=1000):
    ids = (ctypes.c_int64 * count)(*range(begin, begin + count))
    rows = (ctypes.c_float * (32 * count))()
    capi.library().persia_session_assign(name, table, 32, 0, ids, count, rows, None)


def test_a_full_shard_says_what_to_do_and_goes_on(session, terminate):
    command, name = session
    make_table(name, b"full")
    with pytest.raises(errors.PersiaError) as refused:
        for begin in range(0, 100_000, 1000):
            assign(name, b"full", begin)
    assert refused.value.code == 8
    for part in ('table "full"', "8388608 bytes", "--memory-limit", "capacity"):
        assert part in str(refused.value)
    assign(name, b"full", 0)  # Allowed: these rows exist.
    for _ in range(5):
        with pytest.raises(errors.PersiaError):
            assign(name, b"full", 200_000, 50_000)
    command.wait_for(r"WARNING persia.ps \S+: refused: table .full.: the memory limit")
    assert terminate(command) == 0
    told = [line for line in command.stderr.splitlines() if "refused: table" in line]
    assert len(told) == 1, "once a minute"
    assert "5 more requests refused for lack of resources" in command.stderr


def test_a_table_that_evicts_goes_on_there(session):
    _, name = session
    make_table(name, b"t", capacity=b"rows(count=1000000)", eviction=b"lru")
    for begin in range(0, 100_000, 1000):
        assign(name, b"t", begin)


def test_tables_have_a_maximum(session):
    _, name = session
    for table in (b"a", b"b"):
        make_table(name, table)
    with pytest.raises(errors.PersiaError, match="raise --max-tables"):
        make_table(name, b"c")
    make_table(name, b"a")
