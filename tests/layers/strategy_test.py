"""PersiaEmbedding under a distribution strategy."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

TWO_CPUS = """
import tensorflow as tf
import persia_tf as ptf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    try:
        ptf.layers.PersiaEmbedding(4, table="t").build((None,))
    except NotImplementedError as error:
        print(error)
"""


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


def test_two_replicas_in_a_process_are_refused(run_python):
    assert "2 replicas here" in run_python(TWO_CPUS)
