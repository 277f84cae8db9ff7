"""Turns the last axis of a layer's ids, dense or ragged, into bags."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from persia_tf.layers.combiners import flat_values
from persia_tf.ops.bags import Bags
from persia_tf.ops.placement import on_host, reshape_on_host


def bags_of(ids: Any, combiner: str, leave_out_zero: bool) -> tuple[tf.Tensor, Bags]:
    """Turns each innermost row of ids into a bag.

    Args:
        ids: int64, dense or ragged, of rank 2 or more.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        leave_out_zero: Whether id 0 is padding, which belongs to no bag.

    Returns:
        The ids, in their order, and the bags. Dense ids without padding are returned
        unchanged; other ids are flattened to rank 1.
    """
    if not leave_out_zero and not isinstance(ids, tf.RaggedTensor):
        return ids, Bags(combiner)
    splits = _inner_splits(ids)
    flat = tf.reshape(flat_values(ids), [-1])
    if leave_out_zero:
        counts = tf.not_equal(flat, 0)
        before = tf.cumsum(tf.cast(counts, tf.int32))
        splits = tf.gather(tf.concat([[0], before], axis=0), splits)
        flat = tf.boolean_mask(flat, counts)
    return flat, Bags(combiner, splits)


def in_shape_of(ids: Any, bags: Bags, vectors: tf.Tensor) -> Any:
    """Reshapes the vectors of bags to match the ids that the bags came from.

    Args:
        ids: The ids that were passed to `bags_of`.
        bags: The bags that `bags_of` returned.
        vectors: The looked-up vectors of the bags.

    Returns:
        The vectors in shape `ids.shape[:-1] + (dim,)`; ragged if one of those axes is.
    """
    if bags.pool_last_axis:
        return vectors
    if not isinstance(ids, tf.RaggedTensor):
        return _dense_in_shape_of(ids, vectors)
    if ids.flat_values.shape.rank > 1:
        return ids.with_flat_values(_dense_in_shape_of(ids.flat_values, vectors))
    *outer_splits, _ = ids.nested_row_splits
    return tf.RaggedTensor.from_nested_row_splits(vectors, outer_splits, validate=False)


def _inner_splits(ids: Any) -> tf.Tensor:
    if isinstance(ids, tf.RaggedTensor):
        if ids.flat_values.shape.rank == 1:
            return tf.cast(ids.nested_row_splits[-1], tf.int32)
        ids = ids.flat_values
    shape = tf.shape(ids)
    return tf.range(tf.reduce_prod(shape[:-1]) + 1) * shape[-1]


def _dense_in_shape_of(ids: tf.Tensor, vectors: tf.Tensor) -> tf.Tensor:
    dim = vectors.shape[-1]
    with on_host():
        shape = tf.concat([tf.shape(ids)[:-1], [dim]], axis=0)
    shaped = reshape_on_host(vectors, shape)
    shaped.set_shape(ids.shape[:-1].concatenate(dim))
    return shaped
