"""Keras's own layers that make ids, before PersiaEmbedding: in a model, in tf.data."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 3
WORDS = np.array(["a", "b", "c", "a", "zzz"])
NUMBERS = np.array([2**53 + 1, -5, 7, -5, 99])


def string_lookup():
    return keras.layers.StringLookup(vocabulary=["a", "b", "c"]), WORDS


def integer_lookup():
    return keras.layers.IntegerLookup(vocabulary=[2**53 + 1, -5, 7]), NUMBERS


def hashing():
    return keras.layers.Hashing(10**6), WORDS


def hashing_of_integers():
    return keras.layers.Hashing(10**6), NUMBERS


MAKERS = [string_lookup, integer_lookup, hashing, hashing_of_integers]


def model_behind(ids, inputs, table):
    layer = ptf.layers.PersiaEmbedding(DIM, table=table)
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(ids)))
    model.compile("sgd", "mse")
    return model


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("prefetched", [False, True])
def test_in_the_model(make, prefetched, table):
    preprocess, values = make()
    dtype = "string" if values is WORDS else "int64"
    inputs = keras.Input((), dtype=dtype)
    model = model_behind(preprocess(inputs), inputs, table)
    data = tf.data.Dataset.from_tensor_slices((values, np.ones((5, 1)))).batch(2)
    model.fit(ptf.data.prefetch(data, model) if prefetched else data, verbose=0)
    ids = np.unique(np.array(preprocess(values)))
    assert held(table) == set(ids.tolist())
    assert len(ids) == 4


@pytest.mark.parametrize("make", MAKERS)
def test_in_the_input_pipeline(make, table):
    preprocess, values = make()
    inputs = keras.Input((), dtype="int64")
    model = model_behind(inputs, inputs, table)
    data = tf.data.Dataset.from_tensor_slices((values, np.ones((5, 1)))).batch(2)
    data = data.map(lambda x, y: (preprocess(x), y))
    model.fit(ptf.data.prefetch(data, model), verbose=0)
    assert held(table) == set(np.array(preprocess(values)).tolist())


def test_padding_of_ragged_words_is_masked(table):
    lookup = keras.layers.StringLookup(vocabulary=["a", "b"], mask_token="")
    text = keras.Input((None,), dtype="string")
    layer = ptf.layers.PersiaEmbedding(DIM, table=table, mask_zero=True)
    model = keras.Model(text, keras.layers.GRU(2)(layer(lookup(text))))
    layer(tf.range(4, dtype=tf.int64), training=True)
    padded = tf.ragged.constant([["a", "b"], ["b"]]).to_tensor()
    longer = tf.pad(padded, [[0, 0], [0, 2]])
    np.testing.assert_allclose(model(longer), model(padded), atol=1e-6)
    assert not np.array_equal(model(padded)[1], model(tf.constant([["b", "b"]]))[0])


def held(table):
    return {int(i) for page in ptf.Table(table).export() for i in page.ids}
