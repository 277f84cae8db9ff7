"""Capacity and eviction: which arguments are taken or refused, and which rows leave."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors, eviction
from persia_tf._keras import keras


def layer_of(table, cluster=None, **arguments):
    return ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster, **arguments)


@pytest.mark.parametrize(
    ("given", "capacity", "text"),
    [
        (None, None, "never"),
        (None, 10, "lru"),
        ("lru", 10, "lru"),
        ("LFU", "1GB", "lfu"),
        (eviction.LRU(), 10, "lru"),
        (eviction.LFU(), 10, "lfu"),
        (eviction.TTL(steps=7), None, "ttl(steps=7.0)"),
        (eviction.TTL(seconds=30), 10, "ttl(seconds=30.0)"),
    ],
)
def test_text_for_the_core(given, capacity, text):
    assert eviction.spec(eviction.get(given, capacity), capacity) == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: eviction.TTL(steps=0), "`steps`.*from 1 to.*steps=0"),
        (lambda: eviction.TTL(steps=-3), "`steps`.*from 1 to.*steps=-3"),
        (lambda: eviction.TTL(seconds=0), "`seconds`.*from 1 to.*seconds=0"),
        (lambda: eviction.TTL(seconds=-5), "`seconds`.*from 1 to.*seconds=-5"),
        (lambda: eviction.TTL(seconds=2**31), "`seconds`.*from 1 to 2147483647"),
        (lambda: eviction.TTL(), "exactly one.*steps=None, seconds=None"),
        (lambda: eviction.TTL(steps=1, seconds=2), "exactly one.*steps=1, seconds=2"),
    ],
)
def test_lifetimes_out_of_range_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "arguments", [{"steps": 1.5}, {"steps": True}, {"seconds": 0.5}, {"seconds": "1"}]
)
def test_lifetimes_must_be_integers(arguments):
    with pytest.raises(
        TypeError, match=f"`{next(iter(arguments))}` must be an integer"
    ):
        eviction.TTL(**arguments)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("random", ValueError),
        ("ttl", ValueError),
        (3, TypeError),
        (eviction.LRU, TypeError),
    ],
)
def test_unknown_eviction_is_refused_with_the_known_ones(given, error):
    with pytest.raises(error, match="'lru', 'lfu'.*TTL.*eviction="):
        layer_of("t", capacity=10, eviction=given)


def test_evictions_are_equal_if_they_are_made_alike():
    alike = {eviction.TTL(steps=2), eviction.TTL(steps=np.int64(2)), eviction.LRU()}
    assert len(alike) == 2
    assert eviction.TTL(steps=2) != eviction.TTL(seconds=2)
    assert eviction.LRU() == eviction.LRU() != eviction.LFU()


@pytest.mark.parametrize("given", ["lru", "lfu", eviction.LRU(), eviction.LFU()])
def test_eviction_beyond_no_capacity_is_refused(given):
    with pytest.raises(ValueError, match="needs a `capacity`.*capacity=None"):
        layer_of("t", eviction=given)


@pytest.mark.parametrize("given", [0, -5, 10**19, "0B", "2000000TB", "much"])
def test_capacity_out_of_range_is_refused(given):
    with pytest.raises(ValueError, match=f"`capacity`.*capacity={given!r}"):
        layer_of("t", capacity=given)


@pytest.mark.parametrize(
    ("capacity", "given"),
    [
        (None, None),
        (1000, None),
        ("64GiB", "lfu"),
        (None, eviction.TTL(steps=7)),
        (1000, eviction.TTL(seconds=30)),
    ],
)
def test_config_round_trip(capacity, given):
    layer = layer_of("t", capacity=capacity, eviction=given)
    config = layer.get_config()
    copy = ptf.layers.PersiaEmbedding.from_config(config)
    assert copy.get_config() == config
    assert copy.capacity == capacity
    assert repr(copy.eviction) == repr(layer.eviction)


@pytest.mark.parametrize("given", [eviction.LRU(), eviction.TTL(seconds=2)])
def test_keras_revives_a_policy(given):
    revived = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(given)
    )
    assert repr(revived) == repr(given)


def test_the_core_takes_the_largest_capacity(table):
    layer_of(table, capacity=10**18).build(())


def test_a_capacity_of_numpy_survives_the_config():
    layer = layer_of("t", capacity=np.int64(10))
    assert type(layer.get_config()["capacity"]) is int


def test_the_same_settings_in_other_words_attach(cluster, table):
    layer_of(table, cluster, capacity="2KiB").build(())
    layer_of(table, cluster, capacity="2048B", eviction="lru").build(())


@pytest.mark.parametrize(
    "other",
    [
        {"capacity": 2000},
        {"capacity": None},
        {"eviction": "lfu"},
        {"eviction": eviction.TTL(steps=9)},
        {"row_dtype": "float16"},
        {"admission": ptf.admission.MinCount(2)},
    ],
)
def test_layers_that_disagree_are_refused_with_both_settings(other, table):
    settings = {"table": table, "capacity": 1000}
    layer_of(**settings).build(())
    with pytest.raises(errors.AlreadyExistsError) as raised:
        layer_of(**{**settings, **other}).build(())
    difference = str(raised.value).partition("settings: ")[2]
    assert {"first", "now"} <= set(difference.split())
    assert "output_dim" not in difference


def test_a_table_stays_within_its_capacity_and_counts_what_leaves(cluster, table):
    layer = layer_of(table, cluster, capacity=1000)
    rows = ptf.Table(table, cluster)
    for first in range(0, 10_000, 500):
        layer(np.arange(first, first + 500), training=True)
    assert 500 <= len(rows) <= 1000
    parts = [part for process in cluster.stats() for part in process.tables]
    evictions = sum(part.evictions for part in parts if part.name == table)
    assert evictions == 10_000 - len(rows)


def test_a_row_that_is_used_on_and_on_stays(cluster, table):
    layer = layer_of(table, cluster, capacity=1000, embeddings_initializer="ones")
    rows = ptf.Table(table, cluster)
    for first in range(1, 10_001, 100):
        layer(np.array([0, *range(first, first + 100)]), training=True)
    np.testing.assert_array_equal(rows.lookup([0]), 1)


def test_rows_live_for_the_steps_that_they_are_given(cluster, table):
    layer = layer_of(table, cluster, eviction=eviction.TTL(steps=50))
    layer(np.arange(100), training=True)
    for _ in range(60):
        layer(np.arange(1000, 1100), training=True)
    assert not ptf.Table(table, cluster).lookup(np.arange(100)).any()
