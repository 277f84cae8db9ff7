"""Pooling of a bag of rows into one vector, by stock TensorFlow ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

COMBINERS = ("sum", "mean", "sqrtn")


def replace_padding(ids: tf.Tensor) -> tf.Tensor:
    """Replaces the padding, id 0, by an id that is none.

    So that padding asks for no row of its own. A pool that leaves the padding out
    gives these places gradients of zero, which join that id's others.

    Args:
        ids: int64, any shape.

    Returns:
        int64, of that shape: 0 nowhere, unless everywhere.
    """
    most = tf.reduce_max(ids)
    stand_in = tf.where(most > 0, most, tf.reduce_min(ids))
    return tf.where(tf.equal(ids, 0), stand_in, ids)


def flat_values(ids: Any) -> tf.Tensor:
    """The ids of a ragged tensor without its row splits; others as they are."""
    return ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids


def combine(rows: tf.Tensor, combiner: str, mask: tf.Tensor | None, like: Any) -> Any:
    """Pools the last axis of ids.

    With `n` the number of ids that count: `"sum"` adds their rows, `"mean"`
    divides the sum by `n`, `"sqrtn"` by `sqrt(n)` (as
    `tf.nn.embedding_lookup_sparse` does with weights of 1). A bag in which no id
    counts gives zeros.

    Args:
        rows: float32, `(..., dim)`: of the flat values of the ids.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        mask: bool, of the shape of the flat values, true for the ids that count;
            None for all.
        like: The ids, dense or ragged: where each bag begins and ends.

    Returns:
        float32, `like.shape[:-1] + (dim,)`; ragged if one of those axes is.
    """
    if not isinstance(like, tf.RaggedTensor):
        return _pool(rows, combiner, mask, _sum_last_axis)
    if like.flat_values.shape.rank > 1:
        return like.with_flat_values(_pool(rows, combiner, mask, _sum_last_axis))
    *outer_splits, splits = like.nested_row_splits

    def sum_bags(values: tf.Tensor) -> tf.Tensor:
        bags = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf.reduce_sum(bags, axis=1)

    pooled = _pool(rows, combiner, mask, sum_bags)
    return tf.RaggedTensor.from_nested_row_splits(pooled, outer_splits, validate=False)


def _pool(
    rows: tf.Tensor,
    combiner: str,
    mask: tf.Tensor | None,
    sum_bags: Callable[[tf.Tensor], tf.Tensor],
) -> tf.Tensor:
    if mask is None:
        counts = tf.ones_like(rows[..., :1])
    else:
        counts = tf.cast(mask, rows.dtype)[..., tf.newaxis]
        # Exactly zero, and so its gradient, whatever the other factor is.
        rows = tf.math.multiply_no_nan(rows, counts)
    total = sum_bags(rows)
    if combiner == "sum":
        return total
    count = sum_bags(counts)
    if combiner == "sqrtn":
        count = tf.sqrt(count)
    return tf.math.divide_no_nan(total, count)


def _sum_last_axis(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(rows, axis=-2)
