"""Layers behind PersiaEmbedding: attention, recurrence, interactions."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 4
IDS = np.array([[1, -2, 2**60, 0], [3, 0, 0, 0]])
# The same sequences with more padding, which must not count.
PADDED = np.pad(IDS, ((0, 0), (0, 3)))


@pytest.fixture
def sequence(table):
    """Ids of any length, and their vectors, which carry a mask."""
    keras.utils.set_random_seed(1)
    ids = keras.Input((None,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(
        DIM, table=table, mask_zero=True, optimizer=ptf.optimizers.SGD(0.05)
    )
    vectors = layer(ids)
    rows = np.random.default_rng(0).normal(size=(5, DIM))
    ptf.Table(table).assign([1, -2, 2**60, 3, 0], rows)
    return ids, vectors


def train(model, inputs, outputs):
    # The learning rate is so low that losses fall with any staleness.
    model.compile(keras.optimizers.SGD(0.02), "mse")
    return model.fit(inputs, np.ones(outputs), epochs=5, verbose=0).history["loss"]


def gru(vectors):
    return keras.layers.GRU(3)(vectors)


def attention(vectors):
    attended = keras.layers.MultiHeadAttention(2, DIM)(vectors, vectors)
    return keras.layers.GlobalAveragePooling1D()(attended)


def masked_mean(vectors):
    return keras.layers.GlobalAveragePooling1D()(vectors)


@pytest.mark.parametrize("behind", [gru, attention, masked_mean])
def test_padding_changes_nothing_of_what_comes_out(behind, sequence):
    ids, vectors = sequence
    model = keras.Model(ids, behind(vectors))
    np.testing.assert_allclose(
        model.predict(PADDED, verbose=0), model.predict(IDS, verbose=0), atol=1e-6
    )


@pytest.mark.parametrize("behind", [gru, attention, masked_mean])
def test_rows_of_ids_learn_and_that_of_the_padding_stays(behind, sequence, table):
    ids, vectors = sequence
    model = keras.Model(ids, keras.layers.Dense(1)(behind(vectors)))
    before = ptf.Table(table).lookup([1, -2, 2**60, 3, 0])
    loss = train(model, PADDED, (2, 1))
    moved = (ptf.Table(table).lookup([1, -2, 2**60, 3, 0]) != before).any(axis=1)
    np.testing.assert_array_equal(moved, [True, True, True, True, False])
    assert loss[-1] < loss[0]


def test_a_candidate_attends_over_a_history(sequence, table):
    history, vectors = sequence
    candidate = keras.Input((1,), dtype="int64")
    query = ptf.layers.PersiaEmbedding(
        DIM, table=table, optimizer=ptf.optimizers.SGD(0.05)
    )(candidate)
    attended = keras.layers.MultiHeadAttention(2, DIM)(query, vectors)
    model = keras.Model([history, candidate], keras.layers.Flatten()(attended))
    candidates = np.array([[3], [1]])
    np.testing.assert_allclose(
        model.predict([PADDED, candidates], verbose=0),
        model.predict([IDS, candidates], verbose=0),
        atol=1e-6,
    )


def test_the_dot_products_of_features_train_their_rows(table):
    ids = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(DIM, table=table)(ids)
    products = keras.layers.Dot(axes=2)([vectors, vectors])
    model = keras.Model(ids, keras.layers.Dense(1)(keras.layers.Flatten()(products)))
    features = np.array([[1, 2, 3], [4, 5, 6]])
    loss = train(model, features, (2, 1))
    assert loss[-1] < loss[0]
    rows = ptf.Table(table).lookup(features[0])
    product = keras.Model(ids, products).predict(features[:1], verbose=0)[0]
    np.testing.assert_allclose(product, rows @ rows.T, rtol=1e-5)


@pytest.mark.parametrize(
    ("shape", "combiner"), [((0,), None), ((0, 3), None), ((0, 3), "mean")]
)
def test_batches_without_examples_pass_through_a_training_step(shape, combiner, table):
    layer = ptf.layers.PersiaEmbedding(DIM, table=table, combiner=combiner)
    with tf.GradientTape() as tape:
        vectors = layer(tf.zeros(shape, tf.int64), training=True)
        loss = tf.reduce_sum(vectors)
    assert vectors.shape == (shape if combiner is None else shape[:-1]) + (DIM,)
    variables = layer.trainable_variables
    gradients = tape.gradient(loss, variables)
    keras.optimizers.SGD().apply_gradients(zip(gradients, variables))
    ptf.flush()
    assert len(ptf.Table(table)) == 0


@pytest.mark.parametrize("kind", ["ragged", "sparse"])
def test_rows_without_ids_are_zeros_and_train_nothing(kind, table):
    ragged = tf.ragged.constant([[], [7], []], dtype=tf.int64)
    ids = ragged if kind == "ragged" else ragged.to_sparse()
    layer = ptf.layers.PersiaEmbedding(
        DIM, table=table, combiner="mean", optimizer=ptf.optimizers.SGD(1.0)
    )
    with tf.GradientTape() as tape:
        pooled = layer(ids, training=True)
        loss = tf.reduce_sum(pooled)
    np.testing.assert_array_equal(np.array(pooled)[[0, 2]], np.zeros((2, DIM)))
    variables = layer.trainable_variables
    gradients = tape.gradient(loss, variables)
    keras.optimizers.SGD().apply_gradients(zip(gradients, variables))
    assert len(ptf.Table(table)) == 1
    np.testing.assert_allclose(ptf.Table(table).lookup([7])[0], pooled[1] - 1.0)
