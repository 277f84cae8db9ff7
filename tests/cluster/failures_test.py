"""Shards that are down, die, or come back: errors name them, and come in time."""

import contextlib
import gc
import socket
import time

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras

IDS = np.arange(4096, dtype="int64")
LABELS = np.ones((4096, 1), "float32")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def make_model(table, cluster):
    inputs = keras.Input(shape=(), dtype="int64")
    vector = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vector))
    model.compile("adam", "mse")
    return model


def test_shard_that_is_down_at_start_is_named(table, start_shards):
    """The original PERSIA slept for two minutes, and then panicked."""
    down = f"127.0.0.1:{free_port()}"
    cluster = ptf.Cluster([start_shards(1)[0].address, down], timeout=0.5)
    with pytest.raises(errors.PersiaError, match=down):
        make_model(table, cluster)


def test_shard_that_is_killed_in_mid_epoch_ends_fit(table, shard_process):
    """The original PERSIA dropped batches whose lookup failed, and went on."""
    started = [shard_process() for _ in range(2)]
    cluster = ptf.Cluster([shard.address for shard in started], timeout=2)
    model = make_model(table, cluster)
    victim = started[1]

    class Kill(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                victim.kill()

    begin = time.monotonic()
    with pytest.raises(tf.errors.OpError, match=victim.address):
        model.fit(IDS, LABELS, batch_size=8, epochs=1000, verbose=0, callbacks=[Kill()])
    # It does not hang: this is far more than a request's deadline, far less than
    # training.
    assert time.monotonic() - begin < 60
    with contextlib.suppress(errors.PersiaError):
        cluster.flush()  # Ends pushes that failed after the step that raised.


def test_shard_that_lost_its_tables_is_an_error_not_a_fresh_start(table, start_shards):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=20)
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    ids = tf.constant([1, 2], tf.int64)
    layer(ids, training=True)
    port = shard.port
    shard.stop()
    shard.start(port)
    with pytest.raises(tf.errors.NotFoundError, match=shard.address):
        layer(ids, training=True)


def fit_until(model, dataset, stop):
    """Trains without end, and calls `stop` in the sixth step."""

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                stop()

    model.fit(dataset.repeat(), steps_per_epoch=10**6, verbose=0, callbacks=[Stop()])


def dataset_of(model):
    dataset = tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(8)
    return ptf.data.prefetch(dataset, model, staleness=4)


def test_prefetched_training_ends_with_its_shard_and_goes_on_with_others(
    table, shard_process, start_shards
):
    started = [shard_process() for _ in range(2)]
    cluster = ptf.Cluster([shard.address for shard in started], timeout=2)
    model = make_model(table, cluster)
    victim = started[1]

    begin = time.monotonic()
    with pytest.raises(tf.errors.OpError, match=victim.address):
        fit_until(model, dataset_of(model), victim.kill)
    assert time.monotonic() - begin < 60
    check_that_nothing_waits(cluster)

    others = ptf.Cluster([shard.address for shard in start_shards(2)], timeout=20)
    model = make_model(table, others)
    model.fit(dataset_of(model), verbose=0)
    assert len(ptf.Table(table, cluster=others)) == len(IDS)
    assert others.session.counters()["prefetch_hits"] > 0


def test_prefetched_training_ends_with_a_shard_that_lost_its_tables(
    table, start_shards
):
    shards = start_shards(2)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
    model = make_model(table, cluster)

    def restart():
        port = shards[1].port
        shards[1].stop()
        shards[1].start(port)

    with pytest.raises(tf.errors.NotFoundError, match=shards[1].address):
        fit_until(model, dataset_of(model), restart)
    check_that_nothing_waits(cluster)


def test_an_iterator_that_is_abandoned_leaves_nothing_waiting_for_a_dead_shard(
    table, start_shards
):
    shards = start_shards(2)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=2)
    model = make_model(table, cluster)
    with pytest.raises(tf.errors.OpError, match=shards[1].address):
        train_while_it_dies(model, cluster, shards[1])
    check_that_nothing_waits(cluster)


def train_while_it_dies(model, cluster, shard):
    # Not in the test, because the traceback would keep its frame and so the iterator.
    batches = iter(dataset_of(model))
    model.train_on_batch(*next(batches))
    shard.stop()
    try:
        # The rows of batches that were sent ahead have come, or are on their way.
        for _ in range(20):
            model.train_on_batch(*next(batches))
    finally:
        assert cluster.session.counters()["batches_registered"] > 0


def check_that_nothing_waits(cluster):
    """Checks that everything that was under way ends."""
    with contextlib.suppress(errors.PersiaError):
        cluster.flush()  # Ends pushes that failed after the step that raised.
    gc.collect()
    give_up = time.monotonic() + 60
    while True:
        counters = cluster.session.counters()
        waiting = counters["batches_registered"], counters["updates_pending"]
        if waiting == (0, 0):
            return
        assert time.monotonic() < give_up, f"these still wait: {waiting}"
        time.sleep(0.01)
