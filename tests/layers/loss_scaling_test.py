"""The anchor's shape: it may have values, should a collective library want some."""

import pytest

PROGRAM = """
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.layers import loss_scaling

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
ids = np.arange(64).reshape(16, 4) % 10
labels = np.linspace(-1, 1, 16)[:, None]


def rows_trained(table):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        inputs = keras.Input((4,), dtype="int64")
        layer = ptf.layers.PersiaEmbedding(
            2, table=table, embeddings_initializer="ones", combiner="sum",
            optimizer=ptf.optimizers.SGD(0.1),
        )
        model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
        model.compile("adam", "mse")
    for _ in range(5):
        model.train_on_batch(ids, labels)
        ptf.flush()
    [anchor] = layer.get_weights()
    assert anchor.shape == loss_scaling.ANCHOR_SHAPE
    assert not anchor.any()
    return ptf.Table(table).lookup(np.arange(10))


expected = rows_trained("expected")
assert np.abs(expected - 1).max() > 0.05
loss_scaling.ANCHOR_SHAPE = GIVEN
np.testing.assert_allclose(rows_trained("rows"), expected, atol=1e-6)
"""


@pytest.mark.parametrize("shape", ["(1,)", "(2, 3)"])
def test_rows_train_alike_whatever_the_shape(run_python, shape):
    run_python(PROGRAM.replace("GIVEN", shape))
