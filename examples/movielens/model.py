"""DeepFM (Guo et al., 2017): a factorisation machine and a network share an input."""

from typing import Any

import tensorflow as tf

from movielens.data import FEATURES, MAX_GENRES

keras = tf.keras


class FactorizationMachine(keras.layers.Layer):
    """Computes logits of first and second order from one row per feature.

    A row's first entry is the feature's own weight, and the others are its factors:
    each pair of features adds the dot product of its factors to the second-order logit.
    So one lookup per feature suffices for both orders.

    Input shape: `(batch, features, 1 + factors)`. Output shape: `(batch, 1)`.
    """

    def call(self, rows: Any) -> Any:
        weights, factors = rows[:, :, :1], rows[:, :, 1:]
        square_of_sum = tf.square(tf.reduce_sum(factors, axis=1))
        sum_of_squares = tf.reduce_sum(tf.square(factors), axis=1)
        pairs = 0.5 * tf.reduce_sum(square_of_sum - sum_of_squares, 1, keepdims=True)
        return tf.reduce_sum(weights, axis=1) + pairs


def build(
    rows: Any,
    factors: int = 16,
    hidden: tuple[int, ...] = (64, 32),
    dropout: float = 0.1,
) -> Any:
    """Returns the model.

    Args:
        rows: a `PersiaRows` or a `KerasRows`, which creates the layers of features.
        factors: the number of a row's weights for the second order.
        hidden: the widths of the network's layers.
        dropout: the rate of the dropout after each layer.
    """
    inputs, vectors = {}, []
    for name in FEATURES:
        pooled = name == "genres"
        shape = (MAX_GENRES,) if pooled else ()
        inputs[name] = keras.Input(shape=shape, dtype="int64", name=name)
        vectors.append(rows.layer(name, 1 + factors, pooled)(inputs[name]))
    joined = keras.layers.Concatenate()(vectors)
    stacked = keras.layers.Reshape((len(FEATURES), 1 + factors))(joined)
    deep = joined
    for width in hidden:
        deep = keras.layers.Dense(width, activation="relu")(deep)
        deep = keras.layers.Dropout(dropout)(deep)
    logits = [FactorizationMachine()(stacked), keras.layers.Dense(1)(deep)]
    chance = keras.layers.Activation("sigmoid")(keras.layers.Add()(logits))
    return keras.Model(inputs, chance, name="deepfm")
