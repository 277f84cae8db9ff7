"""Pooling of a bag of rows into one vector, by stock TensorFlow ops."""

from __future__ import annotations

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
        # Exactly zero, and so its gradient, whatever the other factor is.
        rows = tf.math.multiply_no_nan(rows, counts)
        count = tf.reduce_sum(counts, axis=-2)
    total = tf.reduce_sum(rows, axis=-2)
    if combiner == "sum":
        return total
    if combiner == "sqrtn":
        count = tf.sqrt(count)
    return tf.math.divide_no_nan(total, count)
