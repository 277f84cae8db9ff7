"""Deep interest network (Zhou et al., 2018): attention over what a user liked."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from din.data import MAX_HISTORY

keras = tf.keras


class InterestPooling(keras.layers.Layer):
    """Computes a weighted sum of a history of films, with weights from a network.

    The inputs of the network are the film, the candidate, their difference and their
    product. Weights do not add up to 1, so that the sum also represents how strong an
    interest is. Films that are masked have the weight 0.

    Args:
        hidden: the widths of the network's layers, except the last.

    Input shape: `(batch, dim)` and `(batch, films, dim)`. Output shape: `(batch, dim)`.
    """

    def __init__(self, hidden: Sequence[int] = (32,), **options: Any) -> None:
        super().__init__(**options)
        self.supports_masking = True
        self._hidden = [keras.layers.Dense(width, "sigmoid") for width in hidden]
        self._weight = keras.layers.Dense(1)

    def build(self, input_shape: Any) -> None:
        width = 4 * input_shape[0][-1]
        for layer in [*self._hidden, self._weight]:
            layer.build((None, None, width))
            width = layer.units
        self.built = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        candidate, history = inputs
        candidates = tf.broadcast_to(candidate[:, tf.newaxis], tf.shape(history))
        x = tf.concat(
            [history, candidates, history - candidates, history * candidates], axis=-1
        )
        for layer in self._hidden:
            x = layer(x)
        weights = self._weight(x)
        if mask is not None and mask[1] is not None:
            weights *= tf.cast(mask[1], weights.dtype)[..., tf.newaxis]
        return tf.reduce_sum(weights * history, axis=1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape[0]


def build(
    rows: Any,
    dim: int = 16,
    hidden: Sequence[int] = (64, 32),
    dropout: float = 0.1,
) -> Any:
    """Returns the model.

    Args:
        rows: a `PersiaRows` or a `KerasRows`, which creates the layers of features.
        dim: weights per row.
        hidden: the widths of the network's layers.
        dropout: the rate of the dropout after each layer.
    """
    shapes = {"movie": (), "history": (MAX_HISTORY,)}
    inputs = {
        name: keras.Input(shape=shape, dtype="int64", name=name)
        for name, shape in shapes.items()
    }
    # One layer for candidates and histories, so that each film has one row.
    films = rows.layer("movie", dim, masked=True)
    candidate, history = films(inputs["movie"]), films(inputs["history"])
    interest = InterestPooling()([candidate, history])
    both = keras.layers.Multiply()([candidate, interest])
    x = keras.layers.Concatenate()([candidate, interest, both])
    for width in hidden:
        x = keras.layers.Dense(width, activation="relu")(x)
        x = keras.layers.Dropout(dropout)(x)
    chance = keras.layers.Dense(1, activation="sigmoid")(x)
    return keras.Model(inputs, chance, name="din")
