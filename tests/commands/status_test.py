"""`persia status`, with made-up counters and with live shards."""

import argparse
import ctypes
import dataclasses
import json

import pytest

from persia_tf import errors, stats
from persia_tf.client.session import SessionOptions
from persia_tf.commands import asking, status
from persia_tf.native import capi

TABLE = stats.TableStats(
    name="job/user",
    dim=8,
    rows=4,
    bytes=258,
    index_slots=16,
    rows_looked_up=40,
    rows_found=37,
    rows_updated=30,
    nonfinite_gradients=2,
    absent_gradients=1,
    evictions=5,
    refused=6,
)
EMPTY_TABLE = stats.TableStats("job/item", 8, *[0] * 10)
PROCESSES = [
    stats.ProcessStats("ps-0:7000", 1, 1234, 56, 7, 2, 8, 3, 9, (TABLE, EMPTY_TABLE)),
    stats.ProcessStats("[::1]:70", 2, 0, 0, 0, 0, 0, 0, 0, (TABLE,)),
]


# What `persia top` and `persia status --json` show; the text would be too wide.
SHOWN_BY_TOP = {
    *("bytes_in", "bytes_out", "retries", "reconnects", "memory_bytes", "memory_limit"),
    *("log_records", "log_pending", "log_bytes", "log_base_bytes", "log_failed"),
    *("saves", "restores", "failed_checkpoints", "last_save_unix"),
    *("checkpoint_running", "checkpoint_rows", "checkpoint_total_rows"),
    *("requests", "trainers", "member", "slots"),
}


def cells(text):
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def session(request):
    """Opens sessions by their shards' addresses; gives a session's name."""
    native = capi.library()

    def open_session(addresses):
        name = f"{request.node.name}-{addresses}"
        encoded = capi.utf8(name)
        options = SessionOptions(staleness=0).native(addresses)
        native.persia_session_open(encoded, ctypes.byref(options))
        request.addfinalizer(lambda: native.persia_session_close(encoded))
        return name

    return open_session


def create_table(session_name, table, dim):
    rows = ctypes.c_uint64(99)
    settings = capi.TableSettings(
        dim=dim, initializer=b"uniform(minval=-0.05,maxval=0.05)", optimizer=b"adagrad"
    )
    capi.library().persia_session_create_table(
        *(capi.utf8(session_name), capi.utf8(table)),
        *(ctypes.byref(settings), ctypes.byref(rows)),
    )
    return rows.value


def test_text_shows_shards_then_tables_by_name():
    shards, tables = status.to_text(PROCESSES).split("\n\n")
    # Names of columns may contain a space.
    assert cells(shards)[1:] == [
        ["ps-0:7000", "1", "1234", "56", "7", "2", "9", "8", "3"],
        ["[::1]:70", "2", "0", "0", "0", "0", "0", "0", "0"],
    ]
    assert [row[:7] for row in cells(tables)[1:]] == [
        ["job/item", "ps-0:7000", "8", "0", "0", "-", "-"],
        ["job/user", "ps-0:7000", "8", "4", "258", "64.5", "25%"],
        ["job/user", "[::1]:70", "8", "4", "258", "64.5", "25%"],
    ]
    assert cells(tables)[1][7:] == ["0", "-", "0", "0", "0", "0", "0"]
    assert cells(tables)[2][7:] == ["40", "92.5%", "30", "2", "1", "5", "6"]


@pytest.mark.parametrize(
    ("kind", "columns", "elsewhere"),
    [
        # Replicas have lines of their own, and the tables have a table below.
        (
            stats.ProcessStats,
            status.PROCESS_COLUMNS,
            {"role", "source", "behind_seconds", "tables", *SHOWN_BY_TOP},
        ),
        (stats.TableStats, status.TABLE_COLUMNS, {"name"}),
    ],
)
def test_every_counter_has_a_column(kind, columns, elsewhere):
    shown = set()
    for column in columns.values():
        # A ratio is a pair of counters, and then its format.
        shown |= {column} if isinstance(column, str) else set(column[:2])
    assert shown | elsewhere == {field.name for field in dataclasses.fields(kind)}


def test_text_is_aligned():
    for block in status.to_text(PROCESSES).split("\n\n"):
        lines = block.splitlines()
        assert len({len(line) for line in lines}) == 1


def test_text_without_tables_says_so():
    process = stats.ProcessStats("a:1", 1, 0, 0, 0, 0, 0, 0, 0, ())
    assert status.to_text([process]).endswith("\n\nNo tables.")


def test_json_holds_every_counter():
    first, second = json.loads(status.to_json(PROCESSES))["processes"]
    assert first["address"] == "ps-0:7000"
    assert first["bad_frames"] == 8
    assert first["refused_connections"] == 3
    assert second["tables"] == [vars(TABLE)]


def test_shows_a_live_shard_and_its_table(persia, start_ps, session):
    _, address, _ = start_ps()
    assert create_table(session(address), "job/clicks", dim=4) == 0
    command = persia("status", address)
    assert command.wait() == 0, command.stderr
    shards, cluster, epoch, tables = command.stdout.split("\n\n")
    assert cells(shards)[1][0] == address
    assert cells(cluster)[1] == [address, "16384", "100.0%", "-", "up", "-"]
    assert epoch.startswith("The cluster is in epoch ")
    # The table's shard, dimension and rows.
    assert cells(tables)[1][:4] == ["job/clicks", address, "4", "0"]


def test_json_of_live_shards_is_in_the_order_asked(persia, start_ps, session):
    addresses = [start_ps()[1] for _ in range(2)]
    create_table(session(",".join(addresses)), "t", dim=4)
    command = persia("status", "--json", ",".join(reversed(addresses)))
    assert command.wait() == 0, command.stderr
    processes = json.loads(command.stdout)["processes"]
    assert [each["address"] for each in processes] == addresses[::-1]
    assert [len(each["tables"]) for each in processes] == [1, 1]


def test_shards_of_the_environment_are_asked_if_none_are_named(persia, start_ps):
    first, second = [start_ps()[1] for _ in range(2)]
    environment = {"PERSIA_PS": f"{second}, {first}"}
    for named, asked in ([[], [second, first]], [[first], [first]]):
        command = persia("status", "--json", *named, env=environment)
        assert command.wait() == 0, command.stderr
        processes = json.loads(command.stdout)["processes"]
        assert [each["address"] for each in processes] == asked


def test_a_shard_that_is_down_is_named_beside_the_others(
    persia, start_ps, session, unused_address
):
    _, address, _ = start_ps()
    create_table(session(address), "clicks", dim=4)
    command = persia("status", "--timeout=1", f"{unused_address},{address}")
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith(
        f"persia status: {unused_address} is down: it did not answer"
    )
    shards, cluster, _, tables = command.stdout.split("\n\n")
    assert [row[0] for row in cells(cluster)[1:]] == [address]
    assert [row[0] for row in cells(shards)[1:]] == [address, unused_address]
    assert cells(shards)[2][1] == "DOWN"
    assert cells(tables)[1][:2] == ["clicks", address]


def test_json_has_the_shards_that_are_down(persia, start_ps, unused_address):
    _, address, _ = start_ps()
    command = persia("status", "--timeout=1", "--json", f"{address},{unused_address}")
    assert command.wait() == 1
    told = json.loads(command.stdout)
    assert [each["address"] for each in told["processes"]] == [address]
    [failure] = told["failures"]
    assert failure["address"] == unused_address
    assert "connection refused" in failure["error"]


def test_shards_that_are_all_down_are_an_error(persia, unused_address):
    command = persia("status", "--timeout=1", unused_address)
    assert command.wait() == 1
    (line,) = command.stderr.splitlines()
    assert line.startswith("persia status: shard 0 of 1")
    assert unused_address in line
    assert command.stdout == ""


def test_shards_that_are_all_down_are_asked_once(monkeypatch):
    asked = []

    def fetch(addresses, *_):
        asked.extend(addresses)
        raise errors.DeadlineExceededError(
            f"shard 0 of 1 ({addresses[0]}) did not answer within 5 s"
        )

    monkeypatch.setattr(stats, "fetch", fetch)
    args = argparse.Namespace(
        shards=["a:1", "b:1"],
        timeout=5.0,
        auth_token_file=None,
        **dict.fromkeys(["tls_certificate", "tls_key", "tls_ca"]),
    )
    with pytest.raises(errors.DeadlineExceededError) as raised:
        asking.ask_each(args)
    assert str(raised.value) == "shard 0 of 2 (a:1) did not answer within 5 s"
    assert sorted(asked) == ["a:1", "b:1"]


def test_a_standby_has_a_line_of_its_own():
    standby = stats.ProcessStats(
        **{**vars(PROCESSES[0]), "role": "standby", "source": "10.0.0.1:7000"}
    )
    assert f"\n\n{standby.address} is a standby of 10.0.0.1:7000.\n\n" in (
        status.to_text([standby])
    )
