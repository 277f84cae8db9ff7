"""A network over embedded categories and scaled numbers."""

from typing import Any

import tensorflow as tf

from adult_income.data import CATEGORICAL, NUMERIC

keras = tf.keras


def build(
    rows: Any,
    dim: int = 8,
    hidden: tuple[int, ...] = (256, 128),
    dropout: float = 0.3,
) -> Any:
    """Returns the model.

    Args:
        rows: a `PersiaRows` or a `KerasRows`, which creates the layers of features.
        dim: weights per row.
        hidden: the widths of the network's layers.
        dropout: the rate of the dropout after each layer.
    """
    inputs = {
        name: keras.Input(shape=(), dtype="int64", name=name) for name in CATEGORICAL
    }
    vectors = [rows.layer(name, dim)(ids) for name, ids in inputs.items()]
    inputs["numbers"] = keras.Input(shape=(len(NUMERIC),), name="numbers")
    x = keras.layers.Concatenate()([*vectors, inputs["numbers"]])
    for width in hidden:
        x = keras.layers.Dense(width, activation="relu")(x)
        x = keras.layers.Dropout(dropout)(x)
    chance = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, chance, name="adult_income")
