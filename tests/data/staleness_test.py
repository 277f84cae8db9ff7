"""A step's rows lack the updates of at most `staleness` earlier steps."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

STEPS = 40


@pytest.fixture
def same_ids():
    """Batches with the same rows, so that each batch misses all updates under way."""
    ids = np.tile(np.arange(1, 25).reshape(8, 3), (STEPS, 1))
    labels = np.random.default_rng(1).normal(size=(8 * STEPS, 1)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((ids, labels)).batch(8)


@pytest.mark.parametrize("staleness", [0, 1, 3, 8])
def test_no_batch_misses_more_steps(staleness, same_ids, make_model, count):
    model = make_model()
    passed = count()
    model.fit(ptf.data.prefetch(same_ids, model, staleness), verbose=0)
    assert sum(passed.staleness) == STEPS
    assert len(passed.staleness) <= staleness + 1


@pytest.mark.parametrize("staleness", [1, 3])
def test_batches_do_miss_as_many_if_requests_leave_as_early_as_they_may(
    staleness, same_ids, make_model, count, wait_until
):
    model = make_model()
    passed = count()

    class WaitForRequests(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            ptf.flush()
            sent = min(batch + 1 + staleness, STEPS)
            wait_until(lambda: passed["lookup_requests"] >= sent)

    model.fit(
        ptf.data.prefetch(same_ids, model, staleness),
        callbacks=[WaitForRequests()],
        verbose=0,
    )
    assert len(passed.staleness) == staleness + 1
    assert passed.staleness[staleness] >= STEPS - 2 * (staleness + 1)
    assert passed["prefetch_hits"] == STEPS - 1


@pytest.mark.slow
def test_staleness_0_is_deterministic(start_shards):
    """Two trainings on two clusters of new shards give equal bits."""

    def train(port_count):
        shards = start_shards(port_count)
        cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
        keras.utils.set_random_seed(5)
        inputs = keras.Input(shape=(3,), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            4, table="t", optimizer=ptf.optimizers.Adam(0.05), cluster=cluster
        )(inputs)
        outputs = keras.layers.Dense(1)(keras.layers.Flatten()(vectors))
        model = keras.Model(inputs, outputs)
        model.compile("adam", "mse")
        random = np.random.default_rng(2)
        ids = random.zipf(1.3, (320, 3)).astype("int64")
        data = (ids, random.normal(size=(320, 1)).astype("float32"))
        batches = tf.data.Dataset.from_tensor_slices(data).batch(8)
        model.fit(ptf.data.prefetch(batches, model, 0), epochs=2, verbose=0)
        pages = list(ptf.Table("t", cluster=cluster).export())
        by_id = np.argsort(np.concatenate([page.ids for page in pages]))
        rows = [np.concatenate(part)[by_id] for part in zip(*pages)]
        return rows + model.get_weights()

    first, second, on_three = train(2), train(2), train(3)
    for one, other, third in zip(first, second, on_three):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, third)


def test_without_prefetching_a_step_soon_sends_one_request(table, cluster, count):
    inputs = keras.Input(shape=(3,), dtype="int64")
    layers = [
        ptf.layers.PersiaEmbedding(4, table=f"{table}_{i}", cluster=cluster)
        for i in range(5)
    ]
    vectors = keras.layers.Concatenate()([layer(inputs) for layer in layers])
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(vectors))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    ids, labels = np.arange(24).reshape(8, 3), np.ones((8, 1))
    for _ in range(3):
        model.train_on_batch(ids, labels)
    passed = count()
    for _ in range(10):
        model.train_on_batch(ids, labels)
    assert passed["training_lookups"] == 50
    # If a thread is paused between two layers, its step's lookups are sent in two
    # groups.
    assert passed["lookup_requests"] <= 25
