"""What Keras 3 asks `Strategy.reduce` for that TensorFlow does not do.

Works around https://github.com/keras-team/keras/issues/20585: under TensorFlow's
`MultiWorkerMirroredStrategy`, Keras 3's `fit` fails in `reduce`. Once
`tests/distribute/keras3_reduce_test.py` says that it no longer does, this file can go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def reduce_structure(
    strategy: tf.distribute.Strategy,
    reduce: Callable[[Any, Any, int | None], Any],
    reduce_op: Any,
    structure: Any,
    axis: int | None,
) -> Any:
    """Reduces each value of a structure, where `reduce` takes single values.

    Args:
        strategy: The strategy that the values are of.
        reduce: Its `reduce`.
        reduce_op: As for that.
        structure: A nest of values. Keras 3 gives a batch of data so.
        axis: As for that. It is None for values without axes, as Keras 3's logs are.

    Returns:
        The same nest of what was reduced. A batch of data, which Keras 3 reduces
        eagerly to see what it is like, is this worker's own: batches of workers
        need not be of one size, so they cannot be reduced.
    """

    def reduce_one(value: Any) -> Any:
        first = _first_local_value(strategy, value)
        if axis is None and first is not value and tf.executing_eagerly():
            return first
        has_axes = getattr(first, "shape", None) is None or first.shape.rank != 0
        return reduce(reduce_op, value, axis if has_axes else None)

    return tf.nest.map_structure(reduce_one, structure)


def _first_local_value(strategy: tf.distribute.Strategy, value: Any) -> Any:
    # Variables are distributed values too, and really to be reduced.
    if isinstance(value, tf.distribute.DistributedValues) and not isinstance(
        value, tf.Variable
    ):
        return strategy.experimental_local_results(value)[0]
    return value
