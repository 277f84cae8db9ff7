"""DLRM (Naumov et al., 2019): dot products of features between two networks."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from common.interactions import DotInteraction

from criteo_dlrm.data import CATEGORICAL, COUNTS

keras = tf.keras


def build(
    rows: Any,
    dim: int = 16,
    bottom: Sequence[int] = (64,),
    top: Sequence[int] = (64, 32),
) -> Any:
    """Returns the model.

    Args:
        rows: a `PersiaRows` or a `KerasRows`, which creates the layers of features.
        dim: weights per row, and the size of the bottom network's output.
        bottom: the widths of the bottom network's layers, except the last.
        top: the widths of the top network's layers.
    """
    inputs = {
        name: keras.Input(shape=(), dtype="int64", name=name) for name in CATEGORICAL
    }
    vectors = [rows.layer(name, dim)(ids) for name, ids in inputs.items()]
    inputs["numbers"] = keras.Input(shape=(len(COUNTS),), name="numbers")
    numbers = _network(inputs["numbers"], [*bottom, dim])
    joined = keras.layers.Concatenate()([numbers, *vectors])
    stacked = keras.layers.Reshape((1 + len(vectors), dim))(joined)
    products = DotInteraction()(stacked)
    hidden = _network(keras.layers.Concatenate()([numbers, products]), top)
    chance = keras.layers.Dense(1, activation="sigmoid")(hidden)
    return keras.Model(inputs, chance, name="dlrm")


def _network(x: Any, widths: Sequence[int]) -> Any:
    for width in widths:
        x = keras.layers.Dense(width, activation="relu")(x)
    return x
