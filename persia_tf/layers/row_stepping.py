"""Chooses a layer's row optimizer.

It is the layer's own optimizer, or else the equivalent of the model's optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from absl import logging

from persia_tf.client.session import UNDECIDED
from persia_tf.layers.applying_optimizer import applying_optimizer
from persia_tf.layers.layer_table import LayerTable
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

    def commit(
        self, table: LayerTable, commit: Callable[[tf.Tensor, tf.Tensor], tf.Tensor]
    ) -> tf.Tensor:
        """Runs a layer's commit with the current step's learning rate and number.

        Call this only while the optimizer that updates the layer is on the call stack.

        Args:
            table: The layer's table.
            commit: A function of the learning rate (a float32 scalar) and the step's
                number (an int64 scalar). Both are read when the graph runs.

        Returns:
            The result of `commit`.
        """
        applying = applying_optimizer()
        given = self._layer.optimizer or table.given_optimizer
        rule = given or self._followed(table, applying)
        is_counted = not rule.lazy and applying is not None
        step = step_of(applying) if is_counted else tf.zeros((), tf.int64)
        if given is None and applying is not None:
            return commit(learning_rate_of(applying), step)
        return rule.use_learning_rate(self._steps, lambda rate: commit(rate, step))

    def _followed(self, table: LayerTable, applying: Any) -> Optimizer:
        rule = _UNKNOWN if applying is None else row_rule(applying)
        if table.follow(rule.optimizer):
            self._tell(table, rule, applying)
        return rule.optimizer

    def _tell(self, table: LayerTable, rule: RowRule, applying: Any) -> None:
        if not rule.differences:
            logging.info(
                "table '%s': rows are stepped by %s, as the model is",
                *(table.rows.name, rule.optimizer.spec()),
            )
            return
        logging.warning(
            "layer '%s': the rows of table '%s' are stepped by %s%s: %s. To choose, "
            "give the layer `optimizer=`, such as ptf.optimizers.Adagrad(0.05).",
            *(self._layer.name, table.rows.name, rule.optimizer.spec()),
            "" if applying is None else " with the model's learning rate",
            "; ".join(rule.differences),
        )
