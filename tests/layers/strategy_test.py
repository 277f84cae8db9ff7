"""PersiaEmbedding under a distribution strategy."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.mark.parametrize("frozen", [False, True])
def test_one_replica_trains(frozen, table):
    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        inputs = keras.Input(shape=(), dtype="int64")
        layer = ptf.layers.PersiaEmbedding(4, table=table, trainable=not frozen)
        model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
        model.compile("adam", "mse")
    model.fit(np.arange(64), np.ones((64, 1)), batch_size=8, verbose=0)
    rows = model.layers[1](tf.range(64, dtype=tf.int64), training=False)
    assert bool(tf.reduce_any(rows != 0)) is not frozen
