"""Weights of pooled ids, which are the layer's second input."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.ops.placement import on_host


def checked_weights(weights: Any, ids: Any, layer: str) -> tf.Tensor:
    """Checks that weights match the ids, one weight per id.

    Args:
        weights: Floats, dense, ragged or sparse as the ids are.
        ids: The layer's first input.
        layer: The layer's name, for messages.

    Returns:
        float32: one weight for each of the ids' flat values.

    Raises:
        ValueError: if weights and ids differ in kind (dense, ragged or sparse) or in
            static shape.
        InvalidArgumentError: when the graph runs, if the row lengths of ragged weights
            or the indices of sparse weights differ from those of the ids.
    """
    if _are_dense(weights, ids):
        weights, ids = tf.convert_to_tensor(weights), tf.convert_to_tensor(ids)
    elif type(weights) is not type(ids):
        raise ValueError(
            f"layer '{layer}' takes weights of the same kind as the ids: dense, ragged "
            f"or sparse. Received: ids as {type(ids).__name__}, weights as "
            f"{type(weights).__name__}"
        )
    if not weights.shape.is_compatible_with(ids.shape):
        raise ValueError(
            f"layer '{layer}' takes one weight per id, in the same shape. "
            f"Received: ids of shape {ids.shape}, weights of shape {weights.shape}"
        )
    with tf.control_dependencies(_assertions(weights, ids)):
        # `tf.identity` creates an op that depends on the assertions; a cast to the same
        # dtype creates none.
        return tf.identity(tf.cast(_flat(weights), tf.float32))


def _are_dense(*tensors: Any) -> bool:
    composite = (tf.RaggedTensor, tf.SparseTensor)
    return not any(isinstance(tensor, composite) for tensor in tensors)


def _assertions(weights: Any, ids: Any) -> list[Any]:
    message = "weights must have the same shape and positions as the ids"
    if isinstance(ids, tf.SparseTensor):
        return [tf.debugging.assert_equal(weights.indices, ids.indices, message)]
    if isinstance(ids, tf.RaggedTensor):
        return [
            tf.debugging.assert_equal(
                tf.cast(own, tf.int64), tf.cast(others, tf.int64), message
            )
            for own, others in zip(weights.nested_row_splits, ids.nested_row_splits)
        ]
    with on_host():
        shape = tf.shape(ids)
    return [tf.debugging.assert_equal(tf.shape(weights), shape, message)]


def _flat(weights: Any) -> tf.Tensor:
    if isinstance(weights, tf.SparseTensor):
        return tf.sparse.reorder(weights).values
    if isinstance(weights, tf.RaggedTensor):
        return weights.flat_values
    return weights
