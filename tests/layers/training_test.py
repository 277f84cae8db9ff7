"""PersiaEmbedding in every kind of model, and in every way to run one."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.tile(np.arange(16, dtype="int64"), 8)
LABELS = (IDS % 2).astype("float32")[:, None]


def functional(table, cluster):
    inputs = keras.Input(shape=(), dtype="int64")
    vector = layer(table, cluster)(inputs)
    return keras.Model(inputs, keras.layers.Dense(1)(vector))


def sequential(table, cluster):
    return keras.Sequential(
        [
            keras.Input(shape=(), dtype="int64"),
            layer(table, cluster),
            keras.layers.Dense(1),
        ]
    )


def subclassed(table, cluster):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = layer(table, cluster)
            self.dense = keras.layers.Dense(1)

        def call(self, ids, training=None):
            return self.dense(self.embedding(ids, training=training))

    return Model()


def nested(table, cluster):
    inputs = keras.Input(shape=(), dtype="int64")
    return keras.Model(inputs, functional(table, cluster)(inputs))


def layer(table, cluster):
    return ptf.layers.PersiaEmbedding(
        8, table=table, optimizer=ptf.optimizers.Adagrad(0.5), cluster=cluster
    )


@pytest.fixture(params=[functional, sequential, subclassed, nested])
def model(request, table, cluster):
    model = request.param(table, cluster)
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    return model


def test_fit_learns_and_evaluate_and_predict_agree(model):
    before = model.evaluate(IDS, LABELS, verbose=0)
    model.fit(IDS, LABELS, batch_size=32, epochs=5, verbose=0)
    after = model.evaluate(IDS, LABELS, batch_size=32, verbose=0)
    assert after < 0.8 * before
    logits = tf.constant(model.predict(IDS, verbose=0))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)(LABELS, logits)
    np.testing.assert_allclose(float(loss), after, rtol=1e-4)


def test_train_on_batch_learns(model):
    losses = [float(model.train_on_batch(IDS, LABELS)) for _ in range(40)]
    assert losses[-1] < 0.8 * losses[0]


def test_run_eagerly_learns(table, cluster):
    model = functional(table, cluster)
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile("adam", loss, run_eagerly=True)
    history = model.fit(IDS, LABELS, batch_size=32, epochs=5, verbose=0)
    first, *_, last = history.history["loss"]
    assert last < 0.8 * first


def test_validation_data_creates_no_rows(table, cluster):
    model = functional(table, cluster)
    model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
    unseen = np.arange(1000, 1016, dtype="int64")
    model.fit(IDS, LABELS, validation_data=(unseen, LABELS[:16]), epochs=2, verbose=0)
    rows = sum(
        found.rows
        for process in cluster.stats()
        for found in process.tables
        if found.name == table
    )
    assert rows == 16


def test_summary_counts_no_parameters(table):
    model = functional(table, ptf.Cluster.embedded())
    assert model.layers[1].count_params() == 0
