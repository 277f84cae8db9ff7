"""Predicts the time of a training step from the costs of its layers.

A worker computes one layer after the other, forward and then backward. An exchange of a
divided layer must end before the next layer is computed. The sum of a gradient starts
when the gradient is there, while earlier layers are computed. Exchanges share one
network, so each starts when the previous one has ended. Once a gradient is summed, its
weights are updated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from persia_tf.parallel.planning.layer_costs import LayerCost
from persia_tf.parallel.planning.network import Network, Transfer


class Machine(NamedTuple):
    """What a step costs on these workers, beside its layers.

    Attributes:
        group: The network within a group.
        workers: The network between all workers.
        peers: The network between the members of all groups that have the same parts.
        update_per_byte: Seconds to update a byte of weights.
        other_forward: Seconds to compute everything but the layers of the plan.
        other_backward: The same for gradients.
        other_bytes: The bytes of gradients of all other weights.
    """

    group: Network
    workers: Network
    peers: Network
    update_per_byte: float
    other_forward: float
    other_backward: float
    other_bytes: int


def step_seconds(costs: Sequence[LayerCost], machine: Machine) -> float:
    """Predicts the seconds of a step.

    Args:
        costs: The costs of the layers, in the order in which they are computed.
        machine: What else a step costs.
    """
    now = machine.other_forward
    network_free = 0.0
    for cost in costs:
        now += cost.forward + _seconds(cost.forward_transfers, machine.group)
    for cost in reversed(costs):
        exchanged = _seconds(cost.backward_transfers, machine.group)
        if exchanged:
            now = max(now, network_free) + exchanged
            network_free = now
        now += cost.backward
        network_free = _after_sums(cost, now, network_free, machine)
    now += machine.other_backward
    other = Transfer("sum", machine.other_bytes)
    network_free = max(now, network_free)
    network_free += machine.workers.seconds(other) if machine.other_bytes else 0.0
    updated = sum(cost.whole_bytes + cost.part_bytes for cost in costs)
    return network_free + machine.update_per_byte * (updated + machine.other_bytes)


def exchanged_bytes(cost: LayerCost, workers: int, members: int, groups: int) -> float:
    """Returns the bytes that a worker receives for a layer in a step."""
    transfers = cost.forward_transfers + cost.backward_transfers
    return (
        sum(each.bytes_received(members) for each in transfers)
        + Transfer("sum", cost.whole_bytes).bytes_received(workers)
        + Transfer("sum", cost.part_bytes).bytes_received(groups)
    )


def _after_sums(
    cost: LayerCost, now: float, network_free: float, machine: Machine
) -> float:
    """Returns when the network is free again after a layer's gradients are summed."""
    for size, network in (
        (cost.whole_bytes, machine.workers),
        (cost.part_bytes, machine.peers),
    ):
        seconds = network.seconds(Transfer("sum", size)) if size else 0.0
        if seconds:
            network_free = max(now, network_free) + seconds
    return network_free


def _seconds(transfers: Sequence[Transfer], network: Network) -> float:
    return sum(network.seconds(each) for each in transfers)
