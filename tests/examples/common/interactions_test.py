"""Interactions between the vectors of features."""

import numpy as np
import pytest
import tensorflow as tf
from common.interactions import DotInteraction

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3

keras = tf.keras


def test_each_pair_of_features_gives_its_dot_product_once():
    vectors = np.random.default_rng(0).normal(size=(5, 4, 3)).astype("float32")
    products = np.array(DotInteraction()(tf.constant(vectors)))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    expected = [[one[i] @ one[j] for i, j in pairs] for one in vectors]
    np.testing.assert_allclose(products, expected, rtol=1e-5)


@pytest.mark.skipif(not IS_KERAS_3, reason="keras-rs is of Keras 3")
def test_keras_rs_layers_take_the_vectors_as_they_are(table):
    try:
        from keras_rs import layers
    except (
        ImportError,
        AttributeError,
    ) as error:  # TensorFlow 2.16 is too old for it.
        pytest.skip(f"keras-rs cannot be used here: {error}")
    ids = [keras.Input((), dtype="int64") for _ in range(3)]
    rows = ptf.layers.PersiaEmbedding(4, table=table, optimizer=ptf.optimizers.SGD(0.1))
    vectors = [rows(each) for each in ids]
    crossed = layers.FeatureCross()(keras.layers.Concatenate()(vectors))
    products = layers.DotInteraction()(vectors)
    joined = keras.layers.Concatenate()([crossed, products])
    model = keras.Model(ids, keras.layers.Dense(1)(joined))
    model.compile("sgd", "mse")
    features = [np.arange(16) + first for first in (0, 20, 40)]
    model.fit(features, np.ones((16, 1)), verbose=0)
    ptf.flush()
    before = ptf.Table(table).lookup(np.arange(16))
    model.fit(features, np.ones((16, 1)), verbose=0)
    ptf.flush()
    moved = np.abs(ptf.Table(table).lookup(np.arange(16)) - before).max(axis=1)
    assert (moved > 0).all()
