"""Pooling of a bag of rows into one vector, by stock TensorFlow ops."""

from __future__ import annotations

import tensorflow as tf

COMBINERS = ("sum", "mean", "sqrtn")


def combine(rows: tf.Tensor, combiner: str, mask: tf.Tensor | None) -> tf.Tensor:
    """Pools the last axis of ids.

    With `n` the number of ids that count: `"sum"` adds their rows, `"mean"`
    divides the sum by `n`, `"sqrtn"` by `sqrt(n)` (as
    `tf.nn.embedding_lookup_sparse` does with weights of 1). A bag in which no id
    counts gives zeros.

    Args:
        rows: float32, `(..., ids, dim)`.
        combiner: `"sum"`, `"mean"` or `"sqrtn"`.
        mask: bool, `(..., ids)`, true for the ids that count; None for all.

    Returns:
        float32, `(..., dim)`.
    """
    if mask is None:
        count = tf.cast(tf.shape(rows)[-2], rows.dtype)
    else:
        counts = tf.cast(mask, rows.dtype)[..., tf.newaxis]
        rows = rows * counts
        count = tf.reduce_sum(counts, axis=-2)
    total = tf.reduce_sum(rows, axis=-2)
    if combiner == "sum":
        return total
    if combiner == "sqrtn":
        count = tf.sqrt(count)
    return tf.math.divide_no_nan(total, count)
