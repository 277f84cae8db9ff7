"""Loss scalers of optimizers, whose members have different parts of gradients.

A loss scaler leaves out a step whose gradients are not finite, and then lowers its
scale. Each worker looks at its own gradients, which are of its own parts, and in Keras
3 of its own examples. So workers must agree, or some would take a step that others
leave out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3
from persia_tf.parallel.gradients import inner_optimizer
from persia_tf.parallel.members import Members

_AGGREGATE = "aggregate_gradients"


def agree_on_steps(optimizer: Any, workers: Members) -> Callable[[], None]:
    """Makes a loss scaler take the same steps on all workers.

    Args:
        optimizer: A Keras optimizer, whose gradients are summed by a `GradientSum`. If
            it is no loss scaler, nothing changes.
        workers: All workers.

    Returns:
        A function that undoes it. It must be called before the `GradientSum` is undone.
    """
    inner = inner_optimizer(optimizer)
    if inner is optimizer:
        return lambda: None
    if IS_KERAS_3:
        own = optimizer.check_finite
        optimizer.check_finite = lambda gradients: _agreed(own(gradients), workers)
        return lambda: delattr(optimizer, "check_finite")
    summed = getattr(inner, _AGGREGATE)

    @tf.autograph.experimental.do_not_convert
    def aggregate(grads_and_vars: Any) -> list[tuple[Any, Any]]:
        return _spoiled_alike(summed(grads_and_vars), workers)

    setattr(inner, _AGGREGATE, aggregate)
    return lambda: setattr(inner, _AGGREGATE, summed)


def _agreed(finite: tf.Tensor, workers: Members) -> tf.Tensor:
    """Returns whether something is finite on all workers."""
    failed = tf.cast(tf.logical_not(finite), tf.int32)
    return tf.equal(workers.maximum(failed, "loss_scale/failed"), 0)


def _spoiled_alike(pairs: list[tuple[Any, Any]], workers: Members) -> list:
    """Makes a gradient NaN if one of another worker is not finite.

    Then the loss scaler of tf_keras, which looks at them next, leaves out the step.
    """
    dense = [
        place
        for place, (gradient, _) in enumerate(pairs)
        if isinstance(gradient, tf.Tensor) and gradient.shape.num_elements()
    ]
    if not dense:
        return pairs
    finite = [tf.reduce_all(tf.math.is_finite(pairs[place][0])) for place in dense]
    agreed = _agreed(tf.reduce_all(finite), workers)
    gradient, variable = pairs[dense[0]]
    nan = tf.constant(float("nan"), gradient.dtype)
    pairs = list(pairs)
    pairs[dense[0]] = tf.where(agreed, gradient, nan), variable
    return pairs
