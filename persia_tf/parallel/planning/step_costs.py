"""What a step costs, for any placements of a model's layers."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf.parallel.planning.layer_costs import LayerCost
from persia_tf.parallel.planning.network import Curve, Network, Transfer
from persia_tf.parallel.planning.timeline import (
    Machine,
    exchanged_bytes,
    layer_seconds,
    step_seconds,
)

# In place of an axis: each worker has the whole layer.
WHOLE = ""

_NETWORKS = ("group", "workers", "peers")


@dataclasses.dataclass(frozen=True)
class StepCosts:
    """The costs of the layers of a model, and of the machines.

    Attributes:
        layers: For each layer that the model calls, in the order of the calls: the
            costs by the axis of its division, and by `WHOLE`.
        machine: What else a step costs.
    """

    layers: dict[str, dict[str, LayerCost]]
    machine: Machine

    def step_seconds(self, axes: Mapping[str, str]) -> float:
        """Predicts the time of a step.

        Args:
            axes: The axis of each layer that is divided; `WHOLE`, or no entry, for the
                others.
        """
        costs = [each[axes.get(name, WHOLE)] for name, each in self.layers.items()]
        return step_seconds(costs, self.machine)

    def layer_seconds(self, name: str, axis: str) -> float:
        """Returns the time of a layer in a step, if nothing ran beside it.

        Args:
            name: The layer.
            axis: The axis of its division, or `WHOLE`.
        """
        costs = self.layers.get(name)
        return layer_seconds(costs[axis], self.machine) if costs else 0.0

    def layer_bytes(
        self, name: str, workers: int, members: int, groups: int
    ) -> dict[str, float]:
        """Returns the bytes that a worker receives for a layer in a step, by axis."""
        return {
            axis: exchanged_bytes(cost, workers, members, groups)
            for axis, cost in self.layers.get(name, {}).items()
        }

    def to_json(self) -> dict[str, Any]:
        """Returns values that JSON can hold."""
        machine = self.machine._asdict()
        for name in _NETWORKS:
            machine[name] = getattr(self.machine, name).curves
        layers = {
            name: {axis: cost._asdict() for axis, cost in costs.items()}
            for name, costs in self.layers.items()
        }
        return {"layers": layers, "machine": machine}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> StepCosts:
        """Returns the costs of which `to_json` made values.

        Raises:
            KeyError, TypeError: if it did not.
        """
        machine = dict(values["machine"])
        for name in _NETWORKS:
            curves = {kind: _curve(curve) for kind, curve in machine[name].items()}
            machine[name] = Network(curves)
        machine["update"] = _curve(machine["update"])
        layers = {
            name: {axis: _layer_cost(cost) for axis, cost in costs.items()}
            for name, costs in values["layers"].items()
        }
        return cls(layers, Machine(**machine))


def _curve(values: Sequence[Any]) -> Curve:
    return Curve(*map(tuple, values))


def _layer_cost(values: Mapping[str, Any]) -> LayerCost:
    transfers = {
        name: tuple(Transfer(*each) for each in values[name])
        for name in ("forward_transfers", "backward_transfers")
    }
    return LayerCost(**{**values, **transfers})
