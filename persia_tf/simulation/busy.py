"""How busy each part of a simulated cluster is."""

from __future__ import annotations

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import Simulated
from persia_tf.simulation.trainer import AllReduce


def busy_parts(setup: Setup, simulated: Simulated) -> dict[str, float]:
    """Returns in which part of the time each resource is busy, the busiest first.

    Besides what the simulation counts, this is the synchronous part of the trainers:
    the dense part of a step and the all-reduce, one after the other.
    """
    parts = dict(simulated.busy)
    seconds = setup.dense_seconds + all_reduce_seconds(setup)
    parts["dense part of trainers, with its all-reduce"] = (
        seconds * simulated.per_second
    )
    return dict(sorted(parts.items(), key=lambda item: -item[1]))


def all_reduce_seconds(setup: Setup) -> float:
    """Returns how long the all-reduce of a step takes."""
    return AllReduce(setup, Clock()).seconds if setup.trainers > 1 else 0.0
