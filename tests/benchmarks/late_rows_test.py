"""Updates of rows that are applied late."""

import numpy as np
import pytest
import tensorflow as tf
from late_rows import LateRows

import persia_tf as ptf

keras = tf.keras
BATCH, DIM = 2, 3
# Later batches have ids of earlier ones, alone and with others, and one twice.
IDS = np.array([[1, 2], [1, 3], [2, 2], [3, 1], [1, 4], [4, 2], [2, 1]])
WEIGHTS = np.arange(1.0, 1 + len(IDS) * BATCH * DIM, dtype=np.float32)
WEIGHTS = WEIGHTS.reshape(len(IDS), BATCH, DIM) / 8


@pytest.fixture
def late_layer(start_shards):
    """Makes layers on a shard of their own, whose own staleness is 0."""
    cluster = ptf.Cluster([start_shards(1)[0].address], staleness=0)

    def make(steps, optimizer, **options):
        rows = ptf.layers.PersiaEmbedding(
            DIM,
            table=f"late_{steps}",
            embeddings_initializer="ones",
            optimizer=optimizer,
            cluster=cluster,
            **options,
        )
        return LateRows(rows, steps, BATCH)

    return make


def train(layer):
    """Trains with gradients that are known; returns the rows that each step used."""
    sgd = keras.optimizers.SGD(0.0)

    @tf.function
    def step(ids, weights):
        with tf.GradientTape() as tape:
            rows = layer(ids, training=True)
            loss = tf.reduce_sum(rows * weights)
        anchors = layer.trainable_variables
        sgd.apply_gradients(zip(tape.gradient(loss, anchors), anchors))
        return rows

    layer.build((None,))
    sgd.build(layer.trainable_variables)
    return [step(*each).numpy() for each in zip(tf.constant(IDS), WEIGHTS)]


def rows_after(steps):
    """Returns the rows by id when the gradients of the first `steps` steps are in."""
    rows = np.ones((1 + IDS.max(), DIM))
    for ids, weights in zip(IDS[:steps], WEIGHTS):
        np.subtract.at(rows, ids, weights)
    return rows


@pytest.mark.parametrize("steps", [0, 1, 3, len(IDS) + 2])
def test_rows_lack_the_updates_of_exactly_so_many_steps(late_layer, steps):
    layer = late_layer(steps, ptf.optimizers.SGD(1.0))
    for number, used in enumerate(train(layer)):
        expected = rows_after(max(0, number - steps))[IDS[number]]
        np.testing.assert_allclose(used, expected, rtol=1e-6)


@pytest.mark.parametrize("steps", [0, 3, len(IDS) + 2])
def test_draining_applies_what_is_held(late_layer, steps):
    layer = late_layer(steps, ptf.optimizers.SGD(1.0))
    train(layer)
    layer.drain()
    table = ptf.Table(layer.rows.table, layer.rows.cluster)
    everything = rows_after(len(IDS))[1:]
    np.testing.assert_allclose(table.lookup(range(1, 5)), everything, rtol=1e-6)


def test_a_zero_gradient_of_the_own_rows_does_not_move_adagrad(late_layer):
    """The gradients are constant, so late and early updates end in the same rows."""
    ends = []
    for steps in (0, 2):
        layer = late_layer(steps, ptf.optimizers.Adagrad(0.5))
        train(layer)
        layer.drain()
        table = ptf.Table(layer.rows.table, layer.rows.cluster)
        ends.append(table.lookup(range(1, 5)))
    np.testing.assert_array_equal(*ends)


def test_pooled_rows_are_late_too(late_layer):
    late = late_layer(1, ptf.optimizers.SGD(1.0), combiner="mean", mask_zero=True)
    late.build((None, 2))
    sgd = keras.optimizers.SGD(0.0)
    bags = tf.constant([[1, 2], [3, 0]], tf.int64)
    used = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            rows = late(bags, training=True)
            loss = tf.reduce_sum(rows)
        anchors = late.trainable_variables
        sgd.apply_gradients(zip(tape.gradient(loss, anchors), anchors))
        used.append(rows[:, 0].numpy())
    # Each row of the first bag gets half of the gradient.
    np.testing.assert_allclose(used, [[1, 1], [1, 1], [0.5, 0]])


def test_evaluation_delays_nothing(late_layer):
    layer = late_layer(2, ptf.optimizers.SGD(1.0))
    train(layer)
    before = layer(tf.constant([1, 2], tf.int64), training=False)
    again = layer(tf.constant([1, 2], tf.int64), training=False)
    np.testing.assert_array_equal(before, again)
    np.testing.assert_allclose(before, rows_after(len(IDS) - 2)[[1, 2]], rtol=1e-6)
