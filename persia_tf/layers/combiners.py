"""Pools each bag of rows into one vector, with stock TensorFlow ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

COMBINERS = ("sum", "mean", "sqrtn")


def replace_padding(ids: tf.Tensor) -> tf.Tensor:
    """Replaces padding, id 0, by another id of the batch.

    So padding needs no row of its own. The replacement does not affect the training of
    the other id: pooling ignores the positions of padding, so they add only zeros to
    that id's gradient.

    Args:
        ids: int64, any shape.

    Returns:
        int64, of the same shape, without zeros; all zeros if all ids are 0.
    """
    most = tf.reduce_max(ids)
    stand_in = tf.where(most > 0, most, tf.reduce_min(ids))
    return tf.where(tf.equal(ids, 0), stand_in, ids)


def flat_values(ids: Any) -> tf.Tensor:
    """Returns the flat values of a ragged tensor, or a dense tensor unchanged."""
    return ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids


def combine(
    rows: tf.Tensor,
    combiner: str,
    mask: tf.Tensor | None,
    like: Any,
    weights: tf.Tensor | None = None,
) -> Any:
    """Pools rows over the last axis of their ids.

    This function obeys the contract in `cc/service/pooling.h`, which covers more cases.
    Let `w` be the weights of the ids that the mask selects. Then `"sum"` is the sum of
    their rows times `w`; `"mean"` is that sum divided by the sum of `w`, and `"sqrtn"`
    is that sum divided by the square root of the sum of `w * w`. A bag without selected
    ids gives zeros, and so does a divisor of zero.

    Args:
        rows: float32, `(..., dim)`: one row for each of the ids' flat values.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        mask: bool, of the shape of the flat values: true for the ids to pool. None
            selects all ids.
        like: The ids, dense or ragged, which define the bags.
        weights: float32, of the shape of the flat values. None: all weights are 1.

    Returns:
        float32, `like.shape[:-1] + (dim,)`; ragged if one of those axes is.
    """
    if mask is not None or weights is not None:
        weights = _factors(rows, mask, weights)
    if not isinstance(like, tf.RaggedTensor):
        return _pool(rows, combiner, weights, _sum_last_axis)
    if like.flat_values.shape.rank > 1:
        return like.with_flat_values(_pool(rows, combiner, weights, _sum_last_axis))
    *outer_splits, splits = like.nested_row_splits

    def sum_bags(values: tf.Tensor) -> tf.Tensor:
        bags = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
        return tf.reduce_sum(bags, axis=1)

    pooled = _pool(rows, combiner, weights, sum_bags)
    return tf.RaggedTensor.from_nested_row_splits(pooled, outer_splits, validate=False)


def _factors(
    rows: tf.Tensor, mask: tf.Tensor | None, weights: tf.Tensor | None
) -> tf.Tensor:
    """Returns the factor of each row: the weight of its id, or 0 outside the mask.

    The last axis has size 1, to broadcast over the last axis of the rows.
    """
    if weights is None:
        return tf.cast(mask, rows.dtype)[..., tf.newaxis]
    if mask is not None:
        weights = tf.where(mask, weights, tf.zeros_like(weights))
    return weights[..., tf.newaxis]


def _pool(
    rows: tf.Tensor,
    combiner: str,
    factors: tf.Tensor | None,
    sum_bags: Callable[[tf.Tensor], tf.Tensor],
) -> tf.Tensor:
    if factors is None:
        factors = tf.ones_like(rows[..., :1])
    else:
        # For a factor of 0 the product and its gradient are exactly 0, even if the row
        # is not finite.
        rows = tf.math.multiply_no_nan(rows, factors)
    total = sum_bags(rows)
    if combiner == "sum":
        return total
    if combiner == "mean":
        return tf.math.divide_no_nan(total, sum_bags(factors))
    return tf.math.divide_no_nan(total, tf.sqrt(sum_bags(factors * factors)))


def _sum_last_axis(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(rows, axis=-2)
