"""Gradients that arrive late, as in asynchronous training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


class GradientQueue:
    """Delays the gradients of a variable, or other tensors, by some steps.

    The first `steps` tensors that it returns are zeros.

    Args:
        steps: The delay, at least 1.
        like: The variable, or anything else with the tensors' shape.
        dtype: The tensors' dtype. Defaults to float32.
    """

    def __init__(self, steps: int, like: Any, dtype: Any = tf.float32) -> None:
        self._steps = steps
        zeros = tf.zeros((steps, *like.shape), dtype)
        self._held = tf.Variable(zeros, trainable=False)

    def exchange(self, gradient: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """Stores a step's gradient, and returns the one from `steps` steps earlier.

        Call this method once per step.

        Args:
            gradient: The gradient of the step.
            step: The number of the step.
        """
        place = step % self._steps
        # The optimizer applies an older gradient, but must still wait for this step's
        # backward pass, which stages the gradients of rows that the optimizer commits.
        with tf.control_dependencies([gradient]):
            # A sparse read copies one entry. A slice would share the variable's memory,
            # so that the write below would first copy all entries.
            late = self._held.sparse_read(place)
        with tf.control_dependencies([late]):
            self._held.scatter_update(tf.IndexedSlices(gradient, place))
        return late


def delayed(optimizer: type, steps: int) -> type:
    """Returns a subclass of a Keras optimizer that applies gradients late.

    The gradients of a step are applied `steps` steps later. The first steps apply zero
    gradients. If these have no effect, as with SGD and Adagrad, the delay is the only
    difference. For dense gradients only.

    Args:
        optimizer: The class, of Keras 3 or tf_keras.
        steps: The delay, at least 1.
    """

    class Delayed(optimizer):
        """The optimizer, with a queue of gradients for each variable."""

        def apply_gradients(self, grads_and_vars: Iterable[Any], **kwargs: Any) -> Any:
            gradients, variables = zip(*grads_and_vars)
            if not hasattr(self, "_queues"):
                with tf.init_scope():
                    self._queues = [GradientQueue(steps, v) for v in variables]
                    self._queue_step = tf.Variable(0, trainable=False)
            step = self._queue_step.assign_add(1)
            late = [q.exchange(g, step) for q, g in zip(self._queues, gradients)]
            return super().apply_gradients(zip(late, variables), **kwargs)

    return Delayed
