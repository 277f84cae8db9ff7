"""Makes all workers plan with the same numbers."""

from __future__ import annotations

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.planning.network import Curve, Network
from persia_tf.parallel.planning.step_costs import StepCosts


def agreed(costs: StepCosts, workers: Members) -> StepCosts:
    """Replaces what was measured by its mean over all workers. Collective.

    Args:
        costs: The costs that this worker measured.
        workers: All workers.
    """
    numbers = _Numbers()
    _replaced(costs, numbers.read)
    total = workers.sum(tf.constant(numbers.values, tf.float64), "plan")
    numbers.values = (total.numpy() / workers.size).tolist()
    return _replaced(costs, numbers.take)


class _Numbers:
    """Reads the numbers in a structure, and puts others in their places."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def read(self, value: float) -> float:
        self.values.append(value)
        return value

    def take(self, value: float) -> float:
        return self.values.pop(0)


def _replaced(costs, number):  # type: ignore[no-untyped-def]
    """Returns the same structure, with `number` of each measured number."""
    layers = {
        name: {
            axis: cost._replace(
                forward=number(cost.forward),
                backward=number(cost.backward),
                weights_backward=number(cost.weights_backward),
            )
            for axis, cost in each.items()
        }
        for name, each in costs.layers.items()
    }

    def curve(old: Curve) -> Curve:
        return Curve(old.sizes, tuple(map(number, old.times)))

    def network(old: Network) -> Network:
        return Network({kind: curve(each) for kind, each in old.curves.items()})

    machine = costs.machine
    machine = machine._replace(
        group=network(machine.group),
        workers=network(machine.workers),
        peers=network(machine.peers),
        sums_share=number(machine.sums_share),
        update=curve(machine.update),
        overhead=number(machine.overhead),
        other_forward=number(machine.other_forward),
        other_backward=number(machine.other_backward),
    )
    return StepCosts(layers, machine)
