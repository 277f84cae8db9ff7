"""Servers of the native core, and the names of their options."""

import pytest

from persia_tf.native import capi, servers

KINDS = [servers.SHARD, servers.WORKER]


@pytest.fixture
def start(request):
    """Starts servers, which end with the test."""

    def start_one(kind, options):
        handle = servers.start(kind, options)
        request.addfinalizer(lambda: capi.library().persia_server_free(handle))
        return handle

    return start_one


@pytest.mark.parametrize("kind", KINDS)
def test_the_core_names_its_options(kind):
    options = servers.option_names(kind)
    assert "host" in options
    assert ("max_tables" in options) == (kind == servers.SHARD)
    assert ("cache_rows" in options) == (kind == servers.WORKER)


def test_a_missing_value_is_the_default(start):
    handle = start(servers.SHARD, {"host": None, "recovery_folder": None})
    assert capi.library().persia_server_port(handle) > 0


def test_bools_lists_and_numbers_are_values(start):
    start(
        servers.WORKER,
        {"insecure": True, "ps": ["127.0.0.1:1", "127.0.0.1:2"], "timeout": 2.5},
    )


def test_an_unknown_option_is_refused():
    with pytest.raises(ValueError, match="there is no option threads"):
        servers.start(servers.SHARD, {"threads": 2})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("port", 70_000, "port must be an integer from 0 to 65535, received 70000"),
        ("recovery", "luck", 'recovery must be log or checkpoint, received "luck"'),
        ("max_tables", -1, "max_tables must be an integer from 0 to .*received -1"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(name, value, told):
    with pytest.raises(ValueError, match=told):
        servers.start(servers.SHARD, {name: value})
