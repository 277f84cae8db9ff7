"""Weights of ids in their pool, as the layer's second input."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.ops.placement import on_host


def checked_weights(weights: Any, ids: Any, layer: str) -> tf.Tensor:
    """Checks that weights go with ids.

    Args:
        weights: Floats: as dense, ragged or sparse as the ids are.
        ids: The layer's other input.
        layer: The layer's name, for messages.

    Returns:
        float32: a weight for each of the ids' flat values.

    Raises:
        ValueError: if they are of another kind, or of another shape.
        InvalidArgumentError: when they are computed, if rows of ragged weights have
            other lengths than those of the ids, or sparse ones other places.
    """
    if _are_dense(weights, ids):
        weights, ids = tf.convert_to_tensor(weights), tf.convert_to_tensor(ids)
    elif type(weights) is not type(ids):
        raise ValueError(
            f"layer '{layer}' takes weights that are as dense, ragged or sparse as "
            f"the ids are. Received: ids as {type(ids).__name__}, weights as "
            f"{type(weights).__name__}"
        )
    if not weights.shape.is_compatible_with(ids.shape):
        raise ValueError(
            f"layer '{layer}' takes a weight for each id. "
            f"Received: ids of shape {ids.shape}, weights of shape {weights.shape}"
        )
    with tf.control_dependencies(_assertions(weights, ids)):
        # A cast that changes nothing would be no op, and wait for nothing.
        return tf.identity(tf.cast(_flat(weights), tf.float32))


def _are_dense(*tensors: Any) -> bool:
    composite = (tf.RaggedTensor, tf.SparseTensor)
    return not any(isinstance(tensor, composite) for tensor in tensors)


def _assertions(weights: Any, ids: Any) -> list[Any]:
    message = "weights must be where the ids are"
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
