"""Trials of a model with shards on this machine, and what they tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from persia_tf.planning.machine import Machine
from persia_tf.planning.model_tables import ModelTable
from persia_tf.planning.own_part import own_part
from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.planning.tried_step import tried_step
from persia_tf.simulation.costs import Costs

MOST_TRIED_SHARDS = 8
"""More shards than these are not tried: they would wait for this machine's cores."""


class Trials:
    """Trains a model for some seconds with each number of shards that is asked for.

    Args:
        model: A Keras model that `check_can_be_timed` has passed.
        sample: Batches as `fit` takes them.
        steps: How many of them there are.
        tables: The model's tables.
        load: What a step does.
        planned: Returns what a number of shards has to do.
        costs: What work takes.
        machine: This machine.
    """

    def __init__(
        self,
        model: Any,
        sample: Iterable[Any],
        steps: int,
        tables: Sequence[ModelTable],
        load: StepLoad,
        planned: Callable[[int], ShardsPlan],
        costs: Costs,
        machine: Machine,
    ) -> None:
        self._tried = (model, sample, steps, tables)
        self._load = load
        self._planned = planned
        self._costs = costs
        self._machine = machine
        self._known: dict[int, TimedSteps] = {}

    def own_part(self, shards: int, same_machine: bool) -> TimedSteps:
        """Returns the model's own part of a step.

        Args:
            shards: The number of shards.
            same_machine: Whether these are on this machine. If so, the part has what
                the model waits for since they use the same cores; otherwise it is that
                of a trial with one shard.
        """
        number = min(shards, MOST_TRIED_SHARDS) if same_machine else 1
        if number not in self._known:
            timed = tried_step(*self._tried, number)
            self._known[number] = own_part(
                *(timed, self._load, self._planned(number), self._costs, self._machine)
            )
        return self._known[number]
