"""Fixtures: short trainings, and rows that count updates."""

from __future__ import annotations

import numpy as np
import pytest

COUNTED_IDS = 40


@pytest.fixture
def train():
    """Trains a layer on a table; gives how many rows of it the shards then hold."""

    def train(table, cluster):
        import persia_tf as ptf
        from persia_tf._keras import keras

        ids = np.arange(64, dtype="int64")
        inputs = keras.Input(shape=(), dtype="int64")
        vector = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)(inputs)
        model = keras.Model(inputs, keras.layers.Dense(1)(vector))
        model.compile("adam", "mse")
        model.fit(ids, np.ones((64, 1), "float32"), batch_size=16, verbose=0)
        cluster.flush()
        parts = [part for process in cluster.stats() for part in process.tables]
        return sum(part.rows for part in parts if part.name == table)

    return train


@pytest.fixture
def assert_cuts_are_mended(table, start_proxies):
    """Cuts the connection before each of several lookups; they must succeed."""

    def assert_mended(shard, **options):
        import persia_tf as ptf

        [proxy] = start_proxies([shard.address])
        cluster = ptf.Cluster([proxy.address], **options)
        layer = ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster)
        ids = np.arange(8, dtype="int64")
        before = layer(ids, training=True)
        for cuts in range(1, 4):
            proxy.cut()
            np.testing.assert_array_equal(layer(ids), before)
            assert cluster.session.counters()["reconnects"] >= cuts

    return assert_mended


@pytest.fixture
def far_cluster(start_shards, start_proxies):
    """Makes clusters of two shards that are some milliseconds away."""
    import persia_tf as ptf

    made = []

    def make(staleness, **options):
        addresses = [shard.address for shard in start_shards(2)]
        proxies = start_proxies(addresses, delay=0.008)
        shards = [proxy.address for proxy in proxies]
        made.append(ptf.Cluster(shards, timeout=20, staleness=staleness, **options))
        return made[-1]

    yield make
    for cluster in made:
        cluster.flush()


class CountingModel:
    """A model and data for which a row's value is the number of its updates.

    Rows begin as zeros, each occurrence of an id has the gradient -1, and each id
    occurs at most once per batch. With `bag`, an example is the sum of that many ids.
    """

    def __init__(self, tables, cluster, *, steps, batch=8, bag=None):
        import tensorflow as tf

        import persia_tf as ptf
        from persia_tf._keras import keras

        inputs = keras.Input(shape=(bag,) if bag else (), dtype="int64")
        vectors = [
            ptf.layers.PersiaEmbedding(
                1,
                table=table,
                cluster=cluster,
                combiner="sum" if bag else None,
                embeddings_initializer="zeros",
                optimizer=ptf.optimizers.SGD(1.0),
            )(inputs)
            for table in tables
        ]
        self.model = keras.Model(inputs, vectors if len(vectors) > 1 else vectors[0])
        loss = [lambda _, vector: -tf.reduce_sum(vector)] * len(vectors)
        self.model.compile("sgd", loss if len(vectors) > 1 else loss[0])
        draw = np.random.default_rng(5)
        self.ids = np.stack(
            [draw.permutation(COUNTED_IDS)[:batch] for _ in range(steps)]
        )
        samples = self.ids.reshape(steps, -1, bag) if bag else self.ids
        labels = np.zeros((*samples.shape[:2], 1), "float32")
        self.dataset = tf.data.Dataset.from_tensor_slices(
            (samples, tuple([labels] * len(vectors)) if len(vectors) > 1 else labels)
        )

    def fit(self, staleness=None, epochs=1):
        """Trains; with a `staleness`, prefetched."""
        self.model.fit(self._dataset(staleness), epochs=epochs, verbose=0)

    def worst_lag(self, staleness=None):
        """Trains on one table step by step, and compares the rows that steps use.

        Returns:
            The least number s for which each step saw all updates of the steps
            that were more than s before it.
        """
        import tensorflow as tf

        variables = self.model.trainable_variables
        before, lag = [np.zeros(COUNTED_IDS)], 0
        for ids, _ in self._dataset(staleness):
            with tf.GradientTape() as tape:
                rows = self.model(ids, training=True)
                loss = -tf.reduce_sum(rows)
            gradients = tape.gradient(loss, variables)
            self.model.optimizer.apply_gradients(zip(gradients, variables))
            seen = rows.numpy().ravel()
            assert (seen <= before[-1][ids]).all(), "an update counted twice"
            lag = max(lag, _lag(seen, [counts[ids] for counts in before[-10:]]))
            before.append(before[-1] + np.isin(np.arange(COUNTED_IDS), ids))
        return lag

    def _dataset(self, staleness):
        import persia_tf as ptf

        if staleness is None:
            return self.dataset
        return ptf.data.prefetch(self.dataset, self.model, staleness=staleness)

    @property
    def counts(self):
        """The expected rows after one epoch, by id."""
        ids, counts = np.unique(self.ids, return_counts=True)
        return {int(i): [float(count)] for i, count in zip(ids, counts)}


def _lag(seen, before):
    """How many of the last counts in `before` are newer than the rows that it saw."""
    fresh = [i for i, counts in enumerate(before) if (seen >= counts).all()]
    assert fresh, "rows lack more than the last steps"
    return len(before) - 1 - fresh[-1]


@pytest.fixture
def counting_model():
    return CountingModel
