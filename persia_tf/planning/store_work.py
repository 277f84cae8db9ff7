"""What a step takes of a store in this process, which a plan leaves to shards."""

from __future__ import annotations

from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.simulation.costs import Costs

_FLOAT_BYTES = 4
# A step is not nearly all lookups; if it seems so, costs are off on this machine.
_LEAST_PART = 0.2


def without_store(timed: TimedSteps, load: StepLoad, costs: Costs) -> TimedSteps:
    """Returns the time of a step without what the store in this process takes of it.

    The store finds and updates rows as a shard does, and the op that asks it does what
    a client does before it sends requests. A simulation adds both again.

    Args:
        timed: The time of a step with rows in this process, trained synchronously.
        load: What the step does.
        costs: What work takes.
    """
    taken = min(_seconds(load, costs), (1 - _LEAST_PART) * timed.seconds)
    seconds = timed.seconds - taken
    busy = timed.seconds * timed.cores - taken
    return TimedSteps(seconds, max(busy / seconds, _LEAST_PART))


def _seconds(load: StepLoad, costs: Costs) -> float:
    size = load.rows * load.dim * _FLOAT_BYTES
    return sum(
        call.caller.seconds(1, 1, load.tables, load.rows, size)
        + call.shard.seconds(0, 0, load.tables, load.rows, size)
        for call in (costs.lookup, costs.update)
    )
