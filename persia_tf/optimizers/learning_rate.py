"""Learning rates of row optimizers: numbers that may be changed, and schedules."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.optimizers.cell import Cell
from persia_tf.optimizers.ranges import FLOAT32_MAX


def is_schedule(learning_rate: Any) -> bool:
    """Whether `learning_rate` is a Keras `LearningRateSchedule`."""
    return isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule)


class LearningRate:
    """A learning rate: a number that may be changed at any time, or a schedule.

    Args:
        value: A number of at least 0, or a Keras schedule.
        rule: The optimizer's class, for messages.

    Raises:
        TypeError: if `value` is neither a number nor a schedule, or is a variable.
        ValueError: if `value` is a number that is negative or not finite.
    """

    def __init__(self, value: Any, rule: str) -> None:
        self._rule = rule
        if hasattr(value, "assign"):
            raise TypeError(
                f"`learning_rate` of {rule} must not be a variable, since its later "
                "values would not be seen. Give a number, and set "
                "`optimizer.learning_rate = x` to change it. "
                f"Received: learning_rate={value!r}"
            )
        self._value = value if is_schedule(value) else self._checked(value)
        # The cell is created when it is first read, not here: creating it uses
        # TensorFlow's runtime, and a distribution strategy must be created before that.
        # A program may create its optimizers before its strategy.
        self._cell: Cell | None = None

    @property
    def value(self) -> Any:
        """The learning rate: a number, or a Keras schedule."""
        return self._value

    def set(self, value: Any) -> None:
        """Changes the learning rate, also for graphs that were already traced.

        Raises:
            TypeError: if `value` is not a number, or the learning rate is a schedule.
            ValueError: if `value` is negative or not finite.
        """
        if is_schedule(self._value) or is_schedule(value):
            raise TypeError(
                f"`learning_rate` of {self._rule} cannot change to or from a schedule, "
                "since compiled training steps would not follow. Give the schedule to "
                "the optimizer when you create it. Received: "
                f"learning_rate={value!r} in place of {self._value!r}"
            )
        self._value = self._checked(value)
        if self._cell is not None:
            self._cell.assign(self._value)

    def read(self, steps: StepCounter) -> tf.Tensor:
        """Returns the learning rate of the current step, as a float32 scalar.

        Args:
            steps: Counts the layer's steps. It is read only if the learning rate is a
                schedule.
        """
        if is_schedule(self._value):
            return self._scheduled(steps.read())
        if self._cell is None:
            self._cell = Cell(self._value, tf.float32)
        return self._cell.read()

    def count(self, steps: StepCounter, committed: tf.Tensor) -> None:
        """Counts a step, if the learning rate is a schedule.

        Args:
            steps: The counter that `read` got.
            committed: The result of the step's commit.
        """
        if is_schedule(self._value):
            steps.add(committed)

    def _scheduled(self, step: tf.Tensor) -> tf.Tensor:
        # Compute the schedule on the CPU, where the commit runs. On a GPU, the step and
        # the learning rate would have to be copied between devices.
        with tf.device("CPU:0"):
            return self._checked_in_graph(tf.cast(self._value(step), tf.float32))

    def _checked_in_graph(self, rate: tf.Tensor) -> tf.Tensor:
        # The raw `Assert` is a single op; `tf.debugging.Assert` would also add a
        # conditional to the graph.
        checked = tf.raw_ops.Assert(
            condition=(rate >= 0) & (rate < np.inf),
            data=[
                f"`learning_rate` of {self._rule} must be finite and at least 0. "
                "Received from its schedule:",
                rate,
            ],
        )
        with tf.control_dependencies([] if checked is None else [checked]):
            return tf.identity(rate)

    def _checked(self, value: Any) -> float:
        number = _as_float(value)
        if number is None:
            raise TypeError(
                f"`learning_rate` of {self._rule} must be a number or a "
                "`keras.optimizers.schedules.LearningRateSchedule` of the Keras "
                f"version that `tf.keras` is. Received: learning_rate={value!r}"
            )
        if not 0 <= number <= FLOAT32_MAX:
            raise ValueError(
                f"`learning_rate` of {self._rule} must be a finite number of at least "
                f"0. Received: learning_rate={value!r}"
            )
        return number


class StepCounter:
    """Counts the steps that a layer has committed.

    If the layer's optimizer has a learning rate schedule, the count is the schedule's
    step.
    """

    def __init__(self) -> None:
        self._cell: Cell | None = None

    def read(self) -> tf.Tensor:
        """Returns the number of commits so far, an int64 scalar."""
        if self._cell is None:
            self._cell = Cell(0, tf.int64)
        return self._cell.read()

    def add(self, committed: tf.Tensor) -> None:
        """Counts a commit after it has run. Call `read` first.

        Args:
            committed: The result of the commit.
        """
        with tf.control_dependencies([committed]):
            self._cell.add(1)


def _as_float(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_, str, bytes)):
        return None
    try:
        return checks.as_float(value)
    except (TypeError, ValueError):
        return None
