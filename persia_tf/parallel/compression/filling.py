"""Makes up for the activations of other members that did not arrive."""

from __future__ import annotations

import tensorflow as tf


def own_scale(own: tf.Tensor, others: tf.Tensor) -> tf.Tensor:
    """Returns by how much a member scales its own numbers up.

    A layer after the exchange sees zeros for numbers that were not sent. In evaluation
    it sees all of them. As dropout does (Srivastava et al., 2014), the numbers that are
    there stand for those that are not, so that sums keep their expected magnitude:

    `scale = 1 + sum over other members of max(0, 1 - arrived / count)`,

    where `arrived` is how many numbers of a member arrived that are not zero, and
    `count` how many of its own are not zero. A member's own numbers tell how many there
    were: half of those behind a ReLU are zeros, which no one misses.

    Args:
        own: `(count,)`: this member's piece for itself.
        others: `(members - 1, count)`: what arrived from the others.

    Returns:
        A float32 scalar, from 1 to the number of members.
    """
    arrived = tf.math.count_nonzero(others, axis=1, dtype=tf.float32)
    count = tf.math.count_nonzero(own, dtype=tf.float32)
    missing = 1.0 - tf.math.divide_no_nan(arrived, count)
    return 1.0 + tf.reduce_sum(tf.nn.relu(missing))
