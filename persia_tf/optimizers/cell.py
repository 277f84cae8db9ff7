"""A scalar variable that graphs can read and write, and that no model tracks."""

from __future__ import annotations

import itertools

import tensorflow as tf

_numbers = itertools.count()


class Cell:
    """A number that belongs to this process, not to a model or distribution strategy.

    A `tf.Variable` cannot be used instead: under a distribution strategy it would
    become a variable of the strategy, and each update of such a variable requires
    communication between all workers. A cell uses the same raw ops as a variable, so
    graphs capture the cell, and order its reads and writes, as they do for a variable.

    Args:
        value: The initial number.
        dtype: The number's `tf.DType`.
    """

    def __init__(self, value: float, dtype: tf.DType) -> None:
        self._dtype = dtype
        with tf.init_scope(), tf.device("CPU:0"):
            self._handle = tf.raw_ops.VarHandleOp(
                dtype=dtype, shape=(), shared_name=f"persia_tf_cell_{next(_numbers)}"
            )
        self.assign(value)

    def assign(self, value: float) -> None:
        """Sets the number immediately, even while a graph is being traced."""
        with tf.init_scope(), tf.device("CPU:0"):
            tf.raw_ops.AssignVariableOp(
                resource=self._handle, value=tf.constant(value, self._dtype)
            )

    def write(self, value: tf.Tensor) -> None:
        """Sets the number; in a graph, each time the graph runs."""
        with tf.device("CPU:0"):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def add(self, value: float | tf.Tensor) -> None:
        """Adds `value` to the number; in a graph, each time the graph runs."""
        with tf.device("CPU:0"):
            tf.raw_ops.AssignAddVariableOp(
                resource=self._handle, value=tf.convert_to_tensor(value, self._dtype)
            )

    def read(self) -> tf.Tensor:
        """Returns the number as a scalar, which a graph reads each time it runs."""
        with tf.device("CPU:0"):
            value = tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
        value.set_shape(())
        return value
