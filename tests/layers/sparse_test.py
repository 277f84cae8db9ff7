"""Sparse ids are pooled as ragged ids are."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

# The columns of ids do not matter, and rows may be empty, even the last one.
IDS = tf.SparseTensor([[0, 1], [0, 4], [2, 0], [3, 2]], [7, 8, 7, 0], [5, 6])
RAGGED = tf.ragged.constant([[7, 8], [], [7], [0], []])


@pytest.mark.parametrize("mask_zero", [False, True])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_sparse_ids_are_pooled_as_ragged_ones(combiner, mask_zero, table):
    layer = ptf.layers.PersiaEmbedding(
        *(4,), table=table, combiner=combiner, mask_zero=mask_zero
    )
    expected = layer(RAGGED, training=True)
    np.testing.assert_array_equal(layer(IDS, training=True), expected)
    assert np.any(expected)


@pytest.mark.parametrize("with_weights", [False, True])
def test_places_may_come_in_any_order(with_weights, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    layer.build((None, None))

    def pooled(order):
        places = tf.gather(tf.constant([[0, 1], [1, 0], [2, 2]], tf.int64), order)
        ids = tf.SparseTensor(places, tf.gather([7, 8, 9], order), [3, 3])
        weights = tf.SparseTensor(places, tf.gather([1.0, 2, 3], order), [3, 3])
        return layer.call(ids, weights if with_weights else None, training=True)

    np.testing.assert_array_equal(pooled([2, 0, 1]), pooled([0, 1, 2]))


def test_sparse_strings_too(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    names = tf.SparseTensor([[0, 1], [1, 0]], ["ann", "bob"], [2, 3])
    expected = layer(tf.constant([["ann"], ["bob"]]), training=True)
    np.testing.assert_array_equal(layer(names), expected)


def test_models_train_on_sparse_ids(table):
    inputs = keras.Input((6,), dtype="int64", sparse=True)
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="mean")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("sgd", "mse")
    ids = tf.cast(IDS, tf.int64)
    data = tf.data.Dataset.from_tensors((ids, tf.ones((5, 1)))).repeat(30)
    before = ptf.metrics()["prefetch_hits"]
    fit = model.fit(ptf.data.prefetch(data, model), verbose=0)
    assert fit.history["loss"][0] < 1
    assert ptf.metrics()["prefetch_hits"] > before


def test_each_place_gets_no_vector(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    layer.build((None, None))
    with pytest.raises(ValueError, match="sparse ids only with a `combiner`"):
        layer.call(IDS)


def test_sparse_ids_have_two_axes(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    layer.build((None, None))
    ids = tf.SparseTensor([[0, 1, 0]], [7], [2, 3, 4])
    with pytest.raises(ValueError, match="of rank 2"):
        layer.call(ids)
