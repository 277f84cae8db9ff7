"""Dense gradients that arrive late, as asynchronous training has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


class GradientQueue:
    """Holds a variable's gradients for as many steps as they are late.

    Args:
        steps: That a gradient is late, at least 1.
        like: The variable; the first `steps` gradients that come out are zeros.
    """

    def __init__(self, steps: int, like: Any) -> None:
        self._steps = steps
        self._held = tf.Variable(tf.zeros((steps, *like.shape)), trainable=False)

    def exchange(self, gradient: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """Takes a step's gradient, and returns that of `steps` steps before.

        Args:
            gradient: Of the step.
            step: Its number; each step calls once.
        """
        place = step % self._steps
        # The optimizer goes on with another gradient, but not before this one is there:
        # behind it, rows' gradients are staged.
        with tf.control_dependencies([gradient]):
            late = tf.identity(self._held[place])
        with tf.control_dependencies([late]):
            self._held[place].assign(gradient)
        return late


def delayed(optimizer: type, steps: int) -> type:
    """Returns a Keras optimizer's class whose gradients are applied late.

    A step's gradients, taken at the weights of then, are applied `steps` steps later.
    That changes nothing where a zero gradient does not, as under SGD or Adagrad, but
    for the delay. For dense gradients only.

    Args:
        optimizer: The class; of either Keras.
        steps: At least 1.
    """

    class Delayed(optimizer):
        """The optimizer, behind a queue a variable."""

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
