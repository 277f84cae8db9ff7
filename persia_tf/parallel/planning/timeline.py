"""Predicts the time of a training step from the costs of its layers.

A worker computes one layer after the other, forward and then backward. An exchange of a
divided layer must end before the next layer is computed. The sum of a bucket of
gradients starts when the gradients are there, while earlier layers are computed. Sums
run one after the other, and share the network with the exchanges, and the processor
with the computation. Once a bucket is summed, its weights are updated, while the
computation waits for an exchange, or at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from persia_tf.parallel.gradients import BUCKET_BYTES
from persia_tf.parallel.planning.layer_costs import LayerCost
from persia_tf.parallel.planning.network import Curve, Network, Transfer


class Machine(NamedTuple):
    """What a step costs on these workers, beside its layers.

    Attributes:
        group: The network within a group.
        workers: The network between all workers.
        peers: The network between the members of all groups that have the same parts.
        sums_share: By which share of the time of sums the computation beside them takes
            longer.
        update: Seconds to update weights, by the bytes of all.
        overhead: Seconds that each step takes beside the model and its gradients.
        other_forward: Seconds to compute everything but the layers of the plan.
        other_backward: The same for gradients.
        other_bytes: The bytes of gradients of all other weights.
    """

    group: Network
    workers: Network
    peers: Network
    sums_share: float
    update: Curve
    overhead: float
    other_forward: float
    other_backward: float
    other_bytes: int


def step_seconds(costs: Sequence[LayerCost], machine: Machine) -> float:
    """Predicts the seconds of a step.

    Args:
        costs: The costs of the layers, in the order in which they are computed.
        machine: What else a step costs.
    """
    step = _Step(machine.sums_share)
    updated = machine.other_bytes + sum(map(_bytes_of, costs))
    # If a step updates much, caches hold none of it.
    per_byte = machine.update.seconds(updated) / max(1, updated)
    whole = _Bucket(machine.workers, step, per_byte)
    parts = _Bucket(machine.peers, step, per_byte)
    step.compute(machine.overhead + machine.other_forward)
    for cost in costs:
        step.compute(cost.forward)
        step.exchange(_seconds(cost.forward_transfers, machine.group))
    for cost in reversed(costs):
        before, after = _backward_exchanges(cost, machine.group)
        step.exchange(before)
        step.compute(cost.backward)
        beside = min(after, cost.weights_backward)
        step.exchange(after)
        step.compute(cost.weights_backward - beside)
        whole.add(cost.whole_bytes)
        parts.add(cost.part_bytes)
    step.compute(machine.other_backward)
    whole.add(machine.other_bytes)
    whole.send()
    parts.send()
    return step.end()


def layer_seconds(cost: LayerCost, machine: Machine) -> float:
    """Returns what a layer adds to a step in which nothing runs beside it."""
    transfers = cost.forward_transfers + cost.backward_transfers
    return (
        cost.forward
        + cost.all_backward
        + _seconds(transfers, machine.group)
        + _sum_seconds(cost.whole_bytes, machine.workers)
        + _sum_seconds(cost.part_bytes, machine.peers)
        + machine.update.seconds(_bytes_of(cost))
    )


def exchanged_bytes(cost: LayerCost, workers: int, members: int, groups: int) -> float:
    """Returns the bytes that a worker receives for a layer in a step."""
    transfers = cost.forward_transfers + cost.backward_transfers
    return (
        sum(each.bytes_received(members) for each in transfers)
        + Transfer("sum", cost.whole_bytes).bytes_received(workers)
        + Transfer("sum", cost.part_bytes).bytes_received(groups)
    )


class _Step:
    """The time of a step, from one event to the next.

    Args:
        sums_share: By which share of the time of sums the computation beside them takes
            longer.
    """

    def __init__(self, sums_share: float) -> None:
        self._now = 0.0
        # Of the computation, and of sums, while both run.
        self._speed = 1.0 / (1.0 + sums_share)
        # The seconds that each sum will take, and those of the update after it.
        self._sums: deque[tuple[float, float]] = deque()
        self._due = 0.0

    def compute(self, seconds: float) -> None:
        """Computes for some time: longer while sums run, as do these."""
        self._run(seconds, self._speed, self._speed)

    def exchange(self, seconds: float) -> None:
        """Exchanges something for some time: twice as long while sums run.

        Meanwhile, weights whose gradients are summed are updated.
        """
        began = self._now
        self._run(seconds, 0.5, 0.5)
        self._due = max(0.0, self._due - (self._now - began))

    def add_sum(self, seconds: float, update: float) -> None:
        """Starts a sum, once those before it have ended; an update follows."""
        if seconds > 0:
            self._sums.append((seconds, update))
        else:
            self._due += update

    def end(self) -> float:
        """Ends the sums and their updates; returns when that is."""
        while self._due or self._sums:
            due, self._due = self._due, 0.0
            self.compute(due)
            if self._sums:
                self._pass(self._sums[0][0], 1.0)
        return self._now

    def _run(self, seconds: float, speed: float, sums_speed: float) -> None:
        """Does something, at a speed of 1 once no sum runs."""
        while seconds > 0 and self._sums:
            until = self._sums[0][0] / sums_speed
            if seconds <= until * speed:
                self._pass(seconds / speed, sums_speed)
                return
            seconds -= until * speed
            self._pass(until, sums_speed)
        self._now += seconds

    def _pass(self, seconds: float, sums_speed: float) -> None:
        """Lets time pass: at most until the first sum ends."""
        self._now += seconds
        left, update = self._sums.popleft()
        left -= seconds * sums_speed
        if left > 1e-9:
            self._sums.appendleft((left, update))
        else:
            self._due += update


class _Bucket:
    """Joins gradients of layers, and starts a sum for each bucket.

    Args:
        network: The network between the workers that sum.
        step: The step.
        update_per_byte: Seconds to update a byte of weights.
    """

    def __init__(self, network: Network, step: _Step, update_per_byte: float) -> None:
        self._network = network
        self._step = step
        self._update_per_byte = update_per_byte
        self._size = 0

    def add(self, size: int) -> None:
        """Adds the gradients of a layer."""
        if self._size + size > BUCKET_BYTES:
            self.send()
        self._size += size

    def send(self) -> None:
        """Starts the sum."""
        if self._size:
            seconds = _sum_seconds(self._size, self._network)
            self._step.add_sum(seconds, self._update_per_byte * self._size)
        self._size = 0


def _seconds(transfers: Sequence[Transfer], network: Network) -> float:
    return sum(network.seconds(each) for each in transfers)


def _sum_seconds(size: int, network: Network) -> float:
    return network.seconds(Transfer("sum", size)) if size else 0.0


def _bytes_of(cost: LayerCost) -> int:
    return cost.whole_bytes + cost.part_bytes


def _backward_exchanges(cost: LayerCost, network: Network) -> tuple[float, float]:
    """Returns the times of exchanges before and after gradients are computed.

    The gradients of weights are computed beside the last exchange.
    """
    times = [network.seconds(each) for each in cost.backward_transfers]
    if len(times) < 2:
        return sum(times), 0.0
    return sum(times[:-1]), times[-1]
