"""Replicas of shards: what they answer, what they refuse, and how they catch up."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras


def model_of(table, cluster):
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, combiner="sum", capacity=300
    )(inputs)
    dense = keras.layers.Dense(1, kernel_initializer="ones", trainable=False)
    model = keras.Model(inputs, dense(vectors))
    model.compile("sgd", "mse")
    return model


def train(model, seed, steps=10):
    draw = np.random.default_rng(seed)
    for _ in range(steps):
        ids = draw.integers(0, 500, size=(16, 3))
        model.train_on_batch(ids, np.ones((16, 1), "float32"))


def exported(table, cluster):
    rows = {}
    for page in ptf.Table(table, cluster).export():
        rows.update(zip(page.ids.tolist(), page.rows.tolist()))
    return rows


def wait_for_rows(table, source, replica):
    """Waits until a replica has all rows of its source, and no other."""
    source.flush()
    rows = exported(table, source)

    def has_rows():
        # One replica may have the table before another one has it.
        tables = [{t.name for t in p.tables} for p in replica.shard_stats()]
        has_table = all(table in names for names in tables)
        return has_table and exported(table, replica) == rows

    wait_until(has_rows, "the replica to have the source's rows")


@pytest.mark.parametrize("count", [1, 2])
def test_a_model_predicts_the_same_against_replicas(
    start_shards, start_replicas, table, count
):
    shards = [shard.address for shard in start_shards(count)]
    source = ptf.Cluster(shards, timeout=20)
    model = model_of(table, source)
    train(model, seed=1)
    replica = ptf.Cluster(start_replicas(shards), timeout=20)
    wait_for_rows(table, source, replica)
    copy = model_of(table, replica)
    ids = np.arange(510).reshape(-1, 3)
    expected = model.predict(ids, verbose=0)
    assert np.abs(expected).max() > 0
    np.testing.assert_array_equal(copy.predict(ids, verbose=0), expected)
    train(model, seed=2)
    wait_for_rows(table, source, replica)
    expected = model.predict(ids, verbose=0)
    np.testing.assert_array_equal(copy.predict(ids, verbose=0), expected)


def test_what_writes_is_refused(start_shards, start_replicas, table):
    [shard] = start_shards(1)
    source = ptf.Cluster([shard.address], timeout=20)
    train(model_of(table, source), seed=1)
    replica = ptf.Cluster(start_replicas([shard.address]), timeout=20)
    wait_for_rows(table, source, replica)
    rows = ptf.Table(table, replica)
    refused = f"replica of {shard.address}"
    for write in (
        lambda: rows.assign([1], [[1] * 4]),
        lambda: rows.remove([1]),
        lambda: train(model_of(table, replica), seed=3, steps=1),
    ):
        with pytest.raises(Exception, match=refused):
            write()
    with pytest.raises(errors.FailedPreconditionError, match="create it on the source"):
        model_of(f"{table}_other", replica)
    # A different timeout gives a session of its own, as another program would have.
    other = ptf.Cluster(replica.shards, timeout=21)
    with pytest.raises(errors.AlreadyExistsError, match="output_dim: 4 here, 8 asked"):
        ptf.layers.PersiaEmbedding(8, table=table, cluster=other).build((None,))
    assert exported(table, replica) == exported(table, source)


def test_a_replica_outlives_its_source_and_catches_up(
    shard_process, start_replicas, table
):
    shard = shard_process()
    timeouts = itertools.count(20)  # A session that lives stays with its shards.
    source = ptf.Cluster([shard.address], timeout=next(timeouts))
    train(model_of(table, source), seed=1)
    replica = ptf.Cluster(start_replicas([shard.address]), timeout=20)
    wait_for_rows(table, source, replica)
    before = exported(table, replica)
    shard.kill()
    assert exported(table, replica) == before
    shard.start()
    source = ptf.Cluster([shard.address], timeout=next(timeouts))
    train(model_of(table, source), seed=4, steps=3)
    wait_for_rows(table, source, replica)
    assert exported(table, replica) != before


def test_a_dropped_table_is_served_no_more(start_shards, start_replicas, table):
    shards = [shard.address for shard in start_shards(2)]
    source = ptf.Cluster(shards, timeout=20)
    train(model_of(table, source), seed=1)
    replica = ptf.Cluster(start_replicas(shards), timeout=20)
    wait_for_rows(table, source, replica)
    copy = model_of(table, replica)
    ids = np.arange(30).reshape(-1, 3)
    copy.predict(ids, verbose=0)
    rows = ptf.Table(table, source)
    rows.clear()
    wait_until(lambda: len(ptf.Table(table, replica)) == 0, "the rows to go")
    rows.drop()

    def is_gone():
        return all(not shard.tables for shard in replica.shard_stats())

    wait_until(is_gone, "the table to go")
    with pytest.raises(tf.errors.NotFoundError, match=f'"{table}" was dropped'):
        copy.predict(ids, verbose=0)


def test_replicas_follow_replicas(start_shards, start_replicas, table):
    [shard] = start_shards(1)
    source = ptf.Cluster([shard.address], timeout=20)
    train(model_of(table, source), seed=1)
    first = start_replicas([shard.address])
    second = ptf.Cluster(start_replicas(first), timeout=20)
    wait_for_rows(table, source, second)
    [process] = second.stats()
    assert process.source == first[0]
    assert process.behind_seconds is not None
