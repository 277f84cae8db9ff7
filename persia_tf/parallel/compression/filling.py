"""Makes up for the activations of other members that did not arrive."""

from __future__ import annotations

import tensorflow as tf


def own_scale(own: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """Returns by how much a member scales its own numbers up.

    A layer after the exchange sees zeros for numbers that were not sent, while in
    evaluation it sees all of them. As in dropout (Srivastava et al., 2014), the numbers
    that are there stand for those that are not. The scale keeps the expected square of
    a weighted sum of them, whose weights have a mean of zero (that of dropout keeps the
    sum itself):

    `scale = sqrt(1 + sum over other members of max(0, 1 - arrived / count))`,

    where `arrived` is how many numbers of a member arrived that are not zero, and
    `count` how many of its own are not zero: it takes members for alike, since numbers
    that are zero anyway, such as half of those behind a ReLU, are not missed.

    Args:
        own: `(count,)`: this member's piece for itself.
        others: `(members - 1, count)`: what arrived from the others.

    Returns:
        A float32 scalar, from 1 to the square root of the number of members.
    """
    arrived = tf.math.count_nonzero(others, axis=1, dtype=tf.float32)
    count = tf.math.count_nonzero(own, dtype=tf.float32)
    missing = 1.0 - tf.math.divide_no_nan(arrived, count)
    return tf.sqrt(1.0 + tf.reduce_sum(tf.nn.relu(missing)))
