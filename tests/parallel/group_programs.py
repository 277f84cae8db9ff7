"""The code with which programs begin whose workers form groups."""

from __future__ import annotations

_BEGIN = """
import json
import os
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

CONFIG = json.loads(os.environ.get("TF_CONFIG", "{}"))
INDEX = CONFIG["task"]["index"] if CONFIG else 0
strategy = ptf.distribute.HierarchicalStrategy(
    GROUP_SIZE,
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=TIMEOUT
    ),
)
random = np.random.default_rng(0)
ids = random.integers(0, 50, (230, 3))
labels = (ids.sum(1, keepdims=True) % 2).astype("float32")
# The last batch is smaller, and some workers may have no part of it.
data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(24)


def say(**results):
    print(json.dumps(results, default=float), flush=True)


def listed(arrays):
    return [np.asarray(array).tolist() for array in arrays]


def make_model(optimizer=None, **options):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4,
        table="t",
        optimizer=ptf.optimizers.SGD(0.5),
        cluster=ptf.Cluster(timeout=60, staleness=0),
    )(inputs)
    x = keras.layers.Flatten(name="flat")(vectors)
    x = keras.layers.Dense(16, "relu", name="wide", kernel_regularizer="l2")(x)
    x = keras.layers.Dense(8, "tanh", name="narrow")(x)
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid", name="head")(x))
    optimizer = optimizer or keras.optimizers.SGD(0.05, momentum=0.9)
    model.compile(optimizer, "binary_crossentropy", **options)
    return model


def divide(model, **axes):
    for layer in ("wide", "narrow", "head"):
        axis = axes.get(layer)
        placement = "model" if axis else "data"
        ptf.parallel.tag(model.get_layer(layer), placement, axis=axis)
    return ptf.parallel.plan(model, batch_size=24).apply(model)
"""

# Functions that compare the whole state of models.
STATE = """
def state(model):
    with ptf.parallel.whole(model):
        variables = model.optimizer.variables
        variables = variables() if callable(variables) else variables
        return listed(model.get_weights()) + listed(each.numpy() for each in variables)


def close(found, expected, strict=True):
    return all(
        np.abs(np.subtract(a, b)).max() <= 2e-6 * max(1e-3, np.abs(b).max())
        for a, b in zip(found, expected, strict=strict)
        if np.size(b)
    )
"""


def preamble(group_size: int | None = None, timeout: int = 120) -> str:
    """Returns Python that makes a strategy, data, and functions for models.

    Args:
        group_size: The number of workers in a group; None for all.
        timeout: The time-out of exchanges, in seconds.
    """
    return _BEGIN.replace("GROUP_SIZE", str(group_size)).replace(
        "TIMEOUT", str(timeout)
    )
