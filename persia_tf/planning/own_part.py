"""The model's own part of a step: what a measured step takes beside its shards."""

from __future__ import annotations

from persia_tf.planning.machine import Machine
from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.simulation.bisection import bisected
from persia_tf.simulation.client import seconds_of_step
from persia_tf.simulation.costs import Costs
from persia_tf.simulation.simulate import simulate

_STEPS = 50
_WARM_UP = 5
# A step is not nearly all requests; if it seems so, costs are off on this machine.
_LEAST_PART = 0.05


def own_part(
    timed: TimedSteps,
    load: StepLoad,
    trial: ShardsPlan,
    costs: Costs,
    machine: Machine,
) -> TimedSteps:
    """Returns the own part of a step with which a simulated step is as measured.

    So the part holds all that requests to shards do not explain: the model, the ops of
    TensorFlow, and what threads wait for each other.

    Args:
        timed: The time of a step with shards on this machine, trained synchronously,
            and how many cores the training program kept busy.
        load: What the step does.
        trial: What these shards had to do.
        costs: What work takes.
        machine: This machine.
    """
    asking = seconds_of_step(load.setup(trial), costs)
    busy = max(timed.seconds * timed.cores - asking, _LEAST_PART * timed.seconds)

    def own(seconds: float) -> TimedSteps:
        if machine.has_accelerator:
            return TimedSteps(seconds, 0.0)
        return TimedSteps(seconds, min(busy / seconds, float(machine.cores)))

    def is_too_short(seconds: float) -> bool:
        part = own(seconds)
        setup = load.setup(
            trial,
            staleness=0,
            dense_seconds=part.seconds,
            dense_cores=part.cores,
            cores=machine.cores,
        )
        step = (
            1 / simulate(setup, costs=costs, steps=_STEPS, warm_up=_WARM_UP).per_second
        )
        return step < timed.seconds

    return own(bisected(_LEAST_PART * timed.seconds, timed.seconds, is_too_short))
