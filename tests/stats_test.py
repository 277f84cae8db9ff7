"""Counters that are read through the native core."""

import ctypes

import pytest

from persia_tf import stats
from persia_tf.client.session import SessionOptions
from persia_tf.native import capi, servers


@pytest.fixture
def embedded(request):
    """The name of a session on the embedded store."""
    name = request.node.name
    native = capi.library()
    options = SessionOptions(timeout=5.0).native("")
    native.persia_session_open(capi.utf8(name), ctypes.byref(options))
    yield name
    native.persia_session_close(capi.utf8(name))


@pytest.fixture
def start_server(request):
    """Starts servers in this process; gives their addresses."""
    native = capi.library()

    def start():
        server = servers.start(servers.SHARD, {})
        request.addfinalizer(lambda: native.persia_server_free(server))
        return f"127.0.0.1:{native.persia_server_port(server)}"

    return start


def create_table(session, table, dim):
    rows = ctypes.c_uint64()
    settings = capi.TableSettings(dim=dim, initializer=b"zeros", optimizer=b"sgd")
    capi.library().persia_session_create_table(
        *(capi.utf8(session), capi.utf8(table)),
        *(ctypes.byref(settings), ctypes.byref(rows)),
    )


def test_a_session_of_the_embedded_store_has_one_process(embedded):
    create_table(embedded, "first", 4)
    create_table(embedded, "sécond", 8)
    (process,) = stats.of_session(embedded)
    assert process.address == "embedded"
    shapes = sorted((table.name, table.dim, table.rows) for table in process.tables)
    assert shapes == [("first", 4, 0), ("sécond", 8, 0)]


def test_an_unknown_session_raises_with_its_name():
    with pytest.raises(LookupError, match="nobody"):
        stats.of_session("nobody")


@pytest.mark.parametrize("join", [list, ",".join])
def test_fetch_asks_every_address_in_order(start_server, join):
    addresses = [start_server(), start_server()]
    processes = stats.fetch(join(addresses), timeout=30)
    assert [process.address for process in processes] == addresses
    assert [process.tables for process in processes] == [(), ()]


def test_fetch_refuses_what_is_no_address():
    with pytest.raises(ValueError, match="nowhere"):
        stats.fetch(["nowhere"])
