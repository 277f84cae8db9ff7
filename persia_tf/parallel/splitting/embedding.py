"""Divides `keras.layers.Embedding`, whose table is in the workers' memory.

By columns, each member has some of the features of each vector: it gathers the ids of
all members, and sends each member these features of its vectors. By rows, each member
has the vectors of some ids: for each id, it adds up one vector and zeros, which is
exact. With g members, b examples each, s ids of an example and vectors of n numbers, a
member receives per step:

- by columns: (g - 1) * b * s ids and (g - 1) * b * s * n / g numbers forward, and as
  many numbers backward;
- by rows: (g - 1) * b * s ids and (g - 1) * b * s * n numbers forward, and as many
  numbers backward.

Each member sums the gradient of its whole part over the groups, not of used rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.parallel.checked import checked
from persia_tf.parallel.exchange import Exchange
from persia_tf.parallel.splitting.plain import is_plain
from persia_tf.parallel.splitting.splittable import Splittable, register


class _DivideEmbedding(Splittable):
    def axes(self, layer: Any) -> Sequence[str]:
        # A layer of tf_keras may return sparse vectors.
        if not is_plain(layer) or getattr(layer, "sparse", False):
            return []
        return ["columns", "rows"]

    def divided_weights(self, layer: Any, axis: str) -> Sequence[tuple[Any, int]]:
        return [(layer.embeddings, 0 if axis == "rows" else 1)]

    def call(
        self, layer: Any, axis: str, exchange: Exchange, *args: Any, **kwargs: Any
    ) -> Any:
        ids = _ids(layer, args[0] if args else kwargs["inputs"])
        # The whole layer fails for an id that is too large; a part cannot tell.
        ids = exchange.gather(_checked(layer, ids))
        part = tf.convert_to_tensor(layer.embeddings)
        if axis == "rows":
            vectors = exchange.sum_rows(_own_vectors(part, ids, exchange.rank))
        else:
            vectors = exchange.to_rows(tf.gather(part, ids))
        return tf.cast(vectors, layer.compute_dtype)


def _ids(layer: Any, ids: Any) -> tf.Tensor:
    if isinstance(ids, (tf.SparseTensor, tf.RaggedTensor)):
        raise TypeError(
            f"the layer '{layer.name}' is divided, so its ids must be a dense tensor. "
            f"Received: {ids!r}"
        )
    ids = tf.convert_to_tensor(ids)
    if ids.dtype not in (tf.int32, tf.int64):
        ids = tf.cast(ids, tf.int32)
    # Keras 3 counts negative ids from the end, as NumPy does.
    return tf.where(ids < 0, ids + layer.input_dim, ids) if IS_KERAS_3 else ids


def _checked(layer: Any, ids: tf.Tensor) -> tf.Tensor:
    inside = tf.reduce_all((ids >= 0) & (ids < layer.input_dim))
    message = f"ids of the layer '{layer.name}' must be less than {layer.input_dim}"
    return checked(ids, inside, [f"{message}. Received:", ids])


def _own_vectors(part: tf.Tensor, ids: tf.Tensor, rank: int) -> tf.Tensor:
    """Returns the vectors of ids that this member has, and zeros for other ids."""
    size = part.shape[0]
    ids = ids - rank * size
    is_own = (ids >= 0) & (ids < size)
    vectors = tf.gather(part, tf.where(is_own, ids, 0))
    return tf.where(is_own[..., tf.newaxis], vectors, 0)


register(keras.layers.Embedding, _DivideEmbedding())
