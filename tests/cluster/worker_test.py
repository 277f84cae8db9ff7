"""An embedding worker between a training program and two shards."""

import contextlib
import ctypes

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import _native, errors
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(0, 200, (320, 3))
LABELS = IDS.sum(axis=1, keepdims=True).astype("float32") / 600


@pytest.fixture
def start_worker():
    """Starts a worker in front of shards; gives its address. It ends with the test."""
    native = _native.library()
    started = []

    def start(shards, timeout=20.0, cache_rows=0):
        handle = _native.ServerHandle()
        behind = _native.utf8(",".join(shard.address for shard in shards))
        native.persia_worker_start(
            *(b"127.0.0.1", 0, 2, behind, timeout, cache_rows, ctypes.byref(handle))
        )
        started.append(handle)
        return f"127.0.0.1:{native.persia_server_port(handle)}"

    yield start
    for handle in started:
        native.persia_server_free(handle)


def cluster_of(addresses, timeout=20):
    return ptf.Cluster(addresses, timeout=timeout, staleness=0)


def make_model(table, cluster):
    keras.utils.set_random_seed(7)
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, optimizer=ptf.optimizers.Adam(0.01)
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(vectors)))
    model.compile("adam", "mse")
    return model


def train(table, cluster):
    """The losses, and every row with its state, by id."""
    model = make_model(table, cluster)
    history = model.fit(
        IDS, LABELS, batch_size=32, epochs=2, shuffle=False, verbose=0
    ).history["loss"]
    rows = {}
    for page in ptf.Table(table, cluster=cluster).export():
        for row_id, row, state in zip(page.ids, page.rows, page.state):
            rows[int(row_id)] = np.concatenate([row, state])
    losses = [*history, model.evaluate(IDS, LABELS, batch_size=32, verbose=0)]
    return losses, rows


@pytest.mark.parametrize("cache_rows", [0, 50])
def test_training_through_a_worker_makes_the_same_rows(
    table, start_shards, start_worker, cache_rows
):
    direct = cluster_of([shard.address for shard in start_shards(2)])
    losses, rows = train(table, direct)
    through = cluster_of([start_worker(start_shards(2), cache_rows=cache_rows)])
    worker_losses, worker_rows = train(table, through)
    assert worker_losses == losses
    assert worker_rows.keys() == rows.keys() == set(np.unique(IDS))
    for row_id, row in rows.items():
        np.testing.assert_array_equal(worker_rows[row_id], row)


def test_the_worker_tells_of_itself_and_then_of_its_shards(
    table, start_shards, start_worker
):
    shards = start_shards(2)
    address = start_worker(shards)
    cluster = cluster_of([address])
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    layer(tf.constant([1, 2, 3], tf.int64), training=True)
    worker, *behind = cluster.stats()
    assert worker.address == address
    assert worker.lookups == 1
    assert [each.address for each in behind] == [shard.address for shard in shards]
    assert sum(each.tables[0].rows for each in behind) == 3


@pytest.mark.parametrize("cache_rows", [0, 50])
def test_a_table_counts_the_rows_of_the_shards_alone(
    table, start_shards, start_worker, cache_rows
):
    cluster = cluster_of([start_worker(start_shards(2), cache_rows=cache_rows)])
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    layer(tf.constant([1, 2, 3], tf.int64), training=True)
    assert len(ptf.Table(table, cluster=cluster)) == 3


def test_a_table_that_is_nowhere_is_not_found(start_shards, start_worker):
    cluster = cluster_of([start_worker(start_shards(1))])
    with pytest.raises(errors.NotFoundError, match="no table 'absent'"):
        len(ptf.Table("absent", cluster=cluster))


def test_a_shard_that_dies_behind_a_worker_is_named(table, start_shards, start_worker):
    shards = start_shards(2)
    cluster = cluster_of([start_worker(shards, timeout=1.0)], timeout=20)
    model = make_model(table, cluster)
    dead = shards[1].address

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                shards[1].stop()

    with pytest.raises(tf.errors.OpError, match=dead):
        model.fit(IDS, LABELS, batch_size=8, verbose=0, callbacks=[Stop()])
    with contextlib.suppress(errors.PersiaError):
        cluster.flush()  # Of pushes that failed behind the step that raised.
