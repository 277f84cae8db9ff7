"""How busy each part of a simulated cluster is."""

from __future__ import annotations

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import Simulated
from persia_tf.simulation.trainer import AllReduce


def busy_parts(setup: Setup, simulated: Simulated) -> dict[str, float]:
    """Returns in which part of the time each resource is busy, the busiest first.

    Besides what the simulation counts, these are the dense part of the trainers and
    their all-reduce, which are serial.
    """
    parts = dict(simulated.busy)
    parts["dense part of trainers"] = setup.dense_seconds * simulated.per_second
    if setup.trainers > 1:
        seconds = AllReduce(setup, Clock()).seconds
        parts["all-reduce of trainers"] = seconds * simulated.per_second
    return dict(sorted(parts.items(), key=lambda item: -item[1]))
