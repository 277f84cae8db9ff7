"""Training with PersiaEmbedding equals training with keras.layers.Embedding.

SGD and Adagrad always; Adam and momentum where every id occurs in every step,
since Keras moves absent rows, and otherwise a lazy reference in NumPy.

Keras gets its gradient dense, that is, summed by id: with the sparse gradients of
its Embedding layer, Keras 3 squares each duplicate by itself.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

STEPS = 50
IDS = 20
DIM = 4
TOLERANCE = 1e-6

PAIRS = {
    "sgd": (
        lambda: ptf.optimizers.SGD(0.1),
        lambda: keras.optimizers.SGD(0.1),
    ),
    "momentum": (
        lambda: ptf.optimizers.SGD(0.1, momentum=0.9),
        lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    ),
    "nesterov": (
        lambda: ptf.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
        lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    ),
    "adagrad": (
        lambda: ptf.optimizers.Adagrad(0.1),
        lambda: keras.optimizers.Adagrad(0.1),
    ),
    "adam": (
        lambda: ptf.optimizers.Adam(0.1),
        lambda: keras.optimizers.Adam(0.1),
    ),
}


def batches(every_id):
    """(ids, targets) of each step; ids repeat within a step."""
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        ids = random.integers(0, IDS, size=(16, 3))
        if every_id:
            ids = np.concatenate([ids.ravel(), np.arange(IDS)])
            random.shuffle(ids)
            ids = ids[: len(ids) // 3 * 3 + 3]
            ids = np.concatenate([ids, ids[: -len(ids) % 3]]).reshape(-1, 3)
        yield ids, random.normal(size=(len(ids), 3, DIM)).astype("float32")


def loss_of(rows, targets):
    # Convex, so that rounding does not grow from step to step.
    return tf.reduce_sum(tf.square(rows - targets)) / IDS


def train_persia(table, cluster, optimizer, every_id):
    layer = ptf.layers.PersiaEmbedding(
        DIM, table=table, optimizer=optimizer, cluster=cluster
    )
    everything = tf.range(IDS, dtype=tf.int64)
    start = np.array(layer(everything, training=True))
    keras_optimizer = keras.optimizers.SGD()
    for ids, targets in batches(every_id):
        with tf.GradientTape() as tape:
            loss = loss_of(layer(tf.constant(ids), training=True), targets)
        gradients = tape.gradient(loss, layer.trainable_variables)
        keras_optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
        cluster.flush()
    return start, np.array(layer(everything, training=False))


def train_keras(start, optimizer, every_id):
    layer = keras.layers.Embedding(IDS, DIM)
    layer.build((None,))
    layer.set_weights([start])
    for ids, targets in batches(every_id):
        with tf.GradientTape() as tape:
            loss = loss_of(layer(tf.constant(ids)), targets)
        sparse = tape.gradient(loss, layer.trainable_variables)
        gradients = [tf.convert_to_tensor(gradient) for gradient in sparse]
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
    return layer.get_weights()[0]


@pytest.mark.parametrize("rule", ["sgd", "adagrad"])
def test_equals_keras_whatever_ids_occur(rule, table, cluster):
    ours, theirs = PAIRS[rule]
    start, rows = train_persia(table, cluster, ours(), every_id=False)
    expected = train_keras(start, theirs(), every_id=False)
    np.testing.assert_allclose(rows, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.abs(rows - start).max() > 0.1


@pytest.mark.parametrize("rule", ["momentum", "nesterov", "adam"])
def test_equals_keras_where_every_id_occurs_in_every_step(rule, table, cluster):
    ours, theirs = PAIRS[rule]
    start, rows = train_persia(table, cluster, ours(), every_id=True)
    expected = train_keras(start, theirs(), every_id=True)
    np.testing.assert_allclose(rows, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.abs(rows - start).max() > 0.1


@pytest.mark.parametrize("rule", ["momentum", "nesterov", "adam"])
def test_equals_a_lazy_reference_where_ids_are_absent(rule, table, cluster):
    ours, _ = PAIRS[rule]
    start, rows = train_persia(table, cluster, ours(), every_id=False)
    expected = train_lazily(start, LAZY[rule], every_id=False)
    np.testing.assert_allclose(rows, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_adam_is_lazy_where_keras_moves_absent_rows(table, cluster):
    start, rows = train_persia(table, cluster, ptf.optimizers.Adam(0.1), False)
    expected = train_keras(start, keras.optimizers.Adam(0.1), every_id=False)
    assert np.abs(rows - expected).max() > 1e-2


def lazy_momentum(row, state, gradient, nesterov=False):
    velocity = 0.9 * state.get("velocity", 0.0) - 0.1 * gradient
    state["velocity"] = velocity
    return row + (0.9 * velocity - 0.1 * gradient if nesterov else velocity)


def lazy_adam(row, state, gradient):
    t = state["t"] = state.get("t", 0) + 1
    beta_1, beta_2 = np.float32(0.9), np.float32(0.999)
    m, v = state.get("m", np.zeros_like(row)), state.get("v", np.zeros_like(row))
    m = state["m"] = m + (gradient - m) * (1 - 0.9)
    v = state["v"] = v + (gradient**2 - v) * (1 - 0.999)
    alpha = np.float32(0.1) * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    return row - m * alpha / (np.sqrt(v) + np.float32(1e-7))


LAZY = {
    "momentum": lazy_momentum,
    "nesterov": lambda *args: lazy_momentum(*args, nesterov=True),
    "adam": lazy_adam,
}


def train_lazily(start, rule, every_id):
    rows = start.copy()
    states = [{} for _ in range(IDS)]
    for ids, targets in batches(every_id):
        gradients = 2 * (rows[ids] - targets) / IDS
        for i in np.unique(ids):
            rows[i] = rule(rows[i], states[i], gradients[ids == i].sum(axis=0))
    return rows
