"""Makes all workers plan with the same numbers."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.planning.choices import Choices
from persia_tf.parallel.planning.network import Line, Network
from persia_tf.parallel.planning.timeline import Machine


def agreed(
    choices: Mapping[str, Choices], machine: Machine, workers: Members
) -> tuple[dict[str, Choices], Machine]:
    """Replaces what was measured by its mean over all workers. Collective.

    Args:
        choices: The costs of layers that this worker measured.
        machine: The other costs that this worker measured.
        workers: All workers.
    """
    numbers = _Numbers()
    _replaced(choices, machine, numbers.read)
    total = workers.sum(tf.constant(numbers.values, tf.float64), "plan")
    numbers.values = (total.numpy() / workers.size).tolist()
    return _replaced(choices, machine, numbers.take)


class _Numbers:
    """Reads the numbers in a structure, and puts others in their places."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def read(self, value: float) -> float:
        self.values.append(value)
        return value

    def take(self, value: float) -> float:
        return self.values.pop(0)


def _replaced(choices, machine, number):  # type: ignore[no-untyped-def]
    """Returns the same structure, with `number` of each measured number."""
    new_choices = {
        name: each._replace(
            costs={
                axis: cost._replace(
                    forward=number(cost.forward), backward=number(cost.backward)
                )
                for axis, cost in each.costs.items()
            }
        )
        for name, each in choices.items()
    }

    def network(old: Network) -> Network:
        return Network(
            {
                kind: Line(number(line.fixed), number(line.per_byte))
                for kind, line in old.lines.items()
            }
        )

    new_machine = machine._replace(
        group=network(machine.group),
        workers=network(machine.workers),
        peers=network(machine.peers),
        update_per_byte=number(machine.update_per_byte),
        other_forward=number(machine.other_forward),
        other_backward=number(machine.other_backward),
    )
    return new_choices, new_machine
