"""Chooses a layer's row optimizer.

It is the layer's own optimizer, or else the equivalent of the model's optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
from absl import logging

from persia_tf.base.spec import in_arguments
from persia_tf.client.session import UNDECIDED
from persia_tf.layers.applying_optimizer import applying_optimizer
from persia_tf.layers.layer_table import LayerTable
from persia_tf.ops.stand_in import stand_ins
from persia_tf.optimizers import Adam, Optimizer
from persia_tf.optimizers.learning_rate import StepCounter
from persia_tf.optimizers.of_keras import (
    RowRule,
    learning_rate_of,
    row_rule,
    step_of,
)

# The row optimizer that is used if the model's optimizer is unknown.
_UNKNOWN = RowRule(Adam(lazy=False), ("the optimizer of the model is not known",))


class RowStep(NamedTuple):
    """What a layer's rows are stepped by in one step.

    Attributes:
        learning_rate: A float32 scalar, which is read when the graph runs.
        number: The step's number, an int64 scalar: see `embedding.commit`.
        end: A function that must be called with the result of the step's commit.
    """

    learning_rate: tf.Tensor
    number: tf.Tensor
    end: Callable[[tf.Tensor], None]


class Reads:
    """The numbers that several layers use in one step, each read once."""

    def __init__(self) -> None:
        self._known: dict[Any, tf.Tensor] = {}

    def once(self, key: Any, read: Callable[[], tf.Tensor]) -> tf.Tensor:
        """Returns the result of `read` for a key, from the first call with that key."""
        if key not in self._known:
            self._known[key] = read()
        return self._known[key]


class RowStepping:
    """Applies updates to a layer's rows with the right optimizer and learning rate.

    Args:
        layer: The Keras layer. Its `optimizer` is a row optimizer or None. If None,
            rows follow the optimizer that updates the layer, with its learning rate.
    """

    def __init__(self, layer: Any) -> None:
        self._layer = layer
        self._steps = StepCounter()

    @property
    def spec(self) -> str:
        """The optimizer that the layer requires of its table, as text for the core."""
        optimizer = self._layer.optimizer
        return UNDECIDED if optimizer is None else optimizer.spec()

    def step(self, table: LayerTable, reads: Reads) -> RowStep:
        """Returns what the layer's rows are stepped by in the current step.

        Call this only while the optimizer that updates the layer is on the call stack.

        Args:
            table: The layer's table.
            reads: The numbers that were read for other layers of this step.
        """
        applying = applying_optimizer()
        given = self._layer.optimizer or table.given_optimizer
        rule = given or self._followed(table, applying)
        is_counted = not rule.lazy and applying is not None
        number = reads.once(
            ("step", is_counted),
            lambda: step_of(applying) if is_counted else tf.zeros((), tf.int64),
        )
        if given is None and applying is not None:
            rate = reads.once("rate", lambda: learning_rate_of(applying))
            return RowStep(rate, number, lambda committed: None)
        standing_in = stand_ins()
        # Steps of a session that stands in do not count.
        steps = self._steps if standing_in is None else standing_in.keep(StepCounter())
        return RowStep(
            rule.read_learning_rate(steps),
            number,
            lambda committed: rule.count_step(steps, committed),
        )

    def _followed(self, table: LayerTable, applying: Any) -> Optimizer:
        rule = _UNKNOWN if applying is None else row_rule(applying)
        if stand_ins() is not None:
            return rule.optimizer  # The table itself follows no optimizer yet.
        if table.follow(rule.optimizer):
            self._tell(table, rule, applying)
        return rule.optimizer

    def _tell(self, table: LayerTable, rule: RowRule, applying: Any) -> None:
        if not rule.differences:
            logging.info(
                "table '%s': rows are stepped by %s, as the model is",
                *(table.rows.name, in_arguments(rule.optimizer.spec())),
            )
            return
        logging.warning(
            "layer '%s': the rows of table '%s' are stepped by %s%s: %s. To choose, "
            "give the layer `optimizer=`, such as ptf.optimizers.Adagrad(0.05).",
            *(self._layer.name, table.rows.name, in_arguments(rule.optimizer.spec())),
            "" if applying is None else " with the model's learning rate",
            "; ".join(rule.differences),
        )
