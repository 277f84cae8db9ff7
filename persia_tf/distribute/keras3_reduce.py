"""Extends `Strategy.reduce` to arguments that Keras 3 passes and TensorFlow refuses.

Works around https://github.com/keras-team/keras/issues/20585: under TensorFlow's
`MultiWorkerMirroredStrategy`, Keras 3's `fit` fails in `reduce`. When
`tests/distribute/keras3_reduce_test.py` reports that `fit` no longer fails, delete this
file.
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
    """Reduces each value of a nested structure with a `reduce` that takes one value.

    Args:
        strategy: The strategy of the values.
        reduce: The strategy's `reduce`.
        reduce_op: As for `reduce`.
        structure: A nest of values, such as the batch of data that Keras 3 passes.
        axis: As for `reduce`. For scalars, such as Keras 3's logs, None is used.

    Returns:
        A nest of the same structure, with the reduced values. A batch of data is not
        reduced: this worker's own batch is returned. Keras 3 reduces a batch eagerly
        only to inspect it, and the batches of several workers cannot be reduced, since
        they may differ in size.
    """

    def reduce_one(value: Any) -> Any:
        first = _first_local_value(strategy, value)
        if axis is None and first is not value and tf.executing_eagerly():
            return first
        has_axes = getattr(first, "shape", None) is None or first.shape.rank != 0
        return reduce(reduce_op, value, axis if has_axes else None)

    return tf.nest.map_structure(reduce_one, structure)


def _first_local_value(strategy: tf.distribute.Strategy, value: Any) -> Any:
    # Variables are distributed values too, but they must be reduced.
    if isinstance(value, tf.distribute.DistributedValues) and not isinstance(
        value, tf.Variable
    ):
        return strategy.experimental_local_results(value)[0]
    return value
