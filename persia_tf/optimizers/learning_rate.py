"""Learning rates of row optimizers: numbers that may be changed, and schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import checks
from persia_tf._keras import keras
from persia_tf.optimizers.cell import Cell
from persia_tf.optimizers.ranges import FLOAT32_MAX

# A function of a scalar; once its result is computed, the commit has run.
Commit = Callable[[tf.Tensor], tf.Tensor]


def is_schedule(learning_rate: Any) -> bool:
    """Whether `learning_rate` is a Keras `LearningRateSchedule`."""
    return isinstance(learning_rate, keras.optimizers.schedules.LearningRateSchedule)


class LearningRate:
    """A learning rate: a number that may be changed at any time, or a schedule.

    Args:
        value: A number of at least 0, or a Keras schedule.
        rule: The optimizer's class, for messages.

    Raises:
        TypeError: if the value is neither, or is a variable.
        ValueError: if the number is negative or not finite.
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
        # Created when it is first read: a distribution strategy must be created before
        # anything else uses TensorFlow's runtime, and optimizers may be created first.
        self._cell: Cell | None = None

    @property
    def value(self) -> Any:
        """The number, or the schedule."""
        return self._value

    def set(self, value: Any) -> None:
        """Sets the number; it also takes effect in graphs that were traced before.

        Raises:
            TypeError: if `value` is not a number, or the learning rate is a schedule.
            ValueError: if `value` is negative or not finite.
        """
        if is_schedule(self._value) or is_schedule(value):
            raise TypeError(
                f"`learning_rate` of {self._rule} can be set from a number to a number "
                "only, since steps that are compiled would not follow. Give the "
                "schedule to the optimizer when you make it. Received: "
                f"learning_rate={value!r} in place of {self._value!r}"
            )
        self._value = self._checked(value)
        if self._cell is not None:
            self._cell.assign(self._value)

    def use(self, steps: StepCounter, commit: Commit) -> tf.Tensor:
        """Runs a commit with the learning rate of its step.

        Args:
            steps: The layer's counter of steps. Only schedules read and increment it.
            commit: A function of the learning rate, a float32 scalar.

        Returns:
            The result of `commit`.
        """
        if is_schedule(self._value):
            return steps.count(lambda step: commit(self._scheduled(step)))
        if self._cell is None:
            self._cell = Cell(self._value, tf.float32)
        return commit(self._cell.read())

    def _scheduled(self, step: tf.Tensor) -> tf.Tensor:
        # On the host, where the commit runs: a GPU would need copies back and forth.
        with tf.device("CPU:0"):
            return self._checked_in_graph(tf.cast(self._value(step), tf.float32))

    def _checked_in_graph(self, rate: tf.Tensor) -> tf.Tensor:
        # A single op; `tf.debugging` would add a conditional.
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
                "`keras.optimizers.schedules.LearningRateSchedule` of the Keras that "
                f"`tf.keras` is. Received: learning_rate={value!r}"
            )
        if not 0 <= number <= FLOAT32_MAX:
            raise ValueError(
                f"`learning_rate` of {self._rule} must be a finite number of at least "
                f"0. Received: learning_rate={value!r}"
            )
        return number


class StepCounter:
    """How many steps a layer has committed, for the schedule of its optimizer."""

    def __init__(self) -> None:
        self._cell: Cell | None = None

    def count(self, commit: Commit) -> tf.Tensor:
        """Runs a commit, and counts it once it has run.

        Args:
            commit: A function of the number of earlier commits, an int64 scalar.

        Returns:
            The result of `commit`.
        """
        if self._cell is None:
            self._cell = Cell(0, tf.int64)
        committed = commit(self._cell.read())
        with tf.control_dependencies([committed]):
            self._cell.add(1)
        return committed


def _as_float(value: Any) -> float | None:
    if isinstance(value, (bool, np.bool_, str, bytes)):
        return None
    try:
        return checks.as_float(value)
    except (TypeError, ValueError):
        return None
