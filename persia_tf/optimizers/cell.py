"""Numbers that graphs read when they run, and that no model tracks."""

from __future__ import annotations

import itertools

import tensorflow as tf

_numbers = itertools.count()


class Cell:
    """A number of this process, outside of models, scopes and strategies.

    A `tf.Variable` does not work under a distribution strategy: created there, it
    becomes a variable of the strategy, whose updates require communication between all
    workers in a step. A cell uses the same raw ops as variables, so graphs capture it
    and order its reads and writes in the same way.

    Args:
        value: The first number.
        dtype: A `tf.DType`.
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
        """Sets the number, when the graph runs."""
        with tf.device("CPU:0"):
            tf.raw_ops.AssignVariableOp(resource=self._handle, value=value)

    def add(self, value: float | tf.Tensor) -> None:
        """Adds to the number, when the graph runs."""
        with tf.device("CPU:0"):
            tf.raw_ops.AssignAddVariableOp(
                resource=self._handle, value=tf.convert_to_tensor(value, self._dtype)
            )

    def read(self) -> tf.Tensor:
        """Returns the number, read when the graph runs, as a scalar."""
        with tf.device("CPU:0"):
            value = tf.raw_ops.ReadVariableOp(resource=self._handle, dtype=self._dtype)
        value.set_shape(())
        return value
