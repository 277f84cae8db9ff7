"""DCN-v2 (Wang et al., 2021): cross layers beside a deep network."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from criteo_dlrm.data import CATEGORICAL, COUNTS

keras = tf.keras


def build(
    rows: Any, dim: int = 16, crosses: int = 3, deep: Sequence[int] = (1024, 1024, 512)
) -> Any:
    """Returns the model.

    All of its large weights are in `Dense` layers, which groups of workers can divide:
    a cross layer is `x0 * Dense(x) + x`.

    Args:
        rows: a `PersiaRows` or a `KerasRows`, which creates the layers of features.
        dim: weights per row, and the size that the counts are mapped to.
        crosses: the number of cross layers.
        deep: the widths of the deep network's layers.
    """
    inputs = {
        name: keras.Input(shape=(), dtype="int64", name=name) for name in CATEGORICAL
    }
    vectors = [rows.layer(name, dim)(ids) for name, ids in inputs.items()]
    inputs["numbers"] = keras.Input(shape=(len(COUNTS),), name="numbers")
    numbers = keras.layers.Dense(dim, activation="relu")(inputs["numbers"])
    first = keras.layers.Concatenate()([numbers, *vectors])
    crossed = _crossed(first, crosses)
    hidden = first
    for i, width in enumerate(deep):
        hidden = keras.layers.Dense(width, "relu", name=f"deep_{i}")(hidden)
    joined = keras.layers.Concatenate()([crossed, hidden])
    chance = keras.layers.Dense(1, activation="sigmoid")(joined)
    return keras.Model(inputs, chance, name="dcn_v2")


def _crossed(first: Any, count: int) -> Any:
    x = first
    for i in range(count):
        weighted = keras.layers.Dense(x.shape[-1], name=f"cross_{i}")(x)
        product = keras.layers.Multiply()([first, weighted])
        x = keras.layers.Add()([product, x])
    return x
