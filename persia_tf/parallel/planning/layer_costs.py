"""Measures what a layer costs on this worker, whole or divided."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import tensorflow as tf

from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.divided_variable import stored
from persia_tf.parallel.planning.layer_calls import LayerCall, random_of
from persia_tf.parallel.planning.loopback import LoopbackMembers
from persia_tf.parallel.planning.network import Transfer
from persia_tf.parallel.planning.timing import first_elements, median_seconds
from persia_tf.parallel.splitting.splittable import splittable_of


class LayerCost(NamedTuple):
    """The cost of a layer in a step, on one worker.

    Attributes:
        forward: Seconds of computing, without exchanges.
        backward: The same for gradients.
        forward_transfers: What is exchanged within the group before the next layer.
        backward_transfers: The same for gradients.
        whole_bytes: The bytes of gradients that all workers add up.
        part_bytes: The bytes of gradients that the groups add up.
    """

    forward: float
    backward: float
    forward_transfers: tuple[Transfer, ...]
    backward_transfers: tuple[Transfer, ...]
    whole_bytes: int
    part_bytes: int


def measured_cost(
    name: str,
    layer: Any,
    call: LayerCall,
    axis: str | None,
    members: int,
    strategy: Any,
) -> LayerCost:
    """Runs a layer with random inputs, and measures what it costs.

    Args:
        name: The layer's name in the plan.
        layer: A built layer.
        call: How the model calls it on one worker.
        axis: The axis of its division, or None if each worker has the whole layer.
        members: The number of workers in a group.
        strategy: The strategy in whose scope the layer was built.
    """
    loopback = LoopbackMembers(members)
    with _placed(name, layer, call, axis, loopback) as divided:
        compute = _Compute(layer, call, strategy, loopback.transfers)
        forward = compute.seconds(backward=False)
        loopback.transfers.clear()
        both = compute.seconds(backward=True)
        parts = {id(stored(each)) for each in divided}
        weights = [stored(each) for each in layer.trainable_variables]
        part_bytes = sum(_bytes_of(each) for each in weights if id(each) in parts)
        whole_bytes = sum(map(_bytes_of, weights)) - part_bytes
    transfers = loopback.transfers
    return LayerCost(
        forward,
        max(0.0, both - forward),
        tuple(transfers[: compute.forward_transfers]),
        tuple(transfers[compute.forward_transfers :]),
        whole_bytes,
        part_bytes,
    )


@contextlib.contextmanager
def _placed(
    name: str, layer: Any, call: LayerCall, axis: str | None, loopback: LoopbackMembers
) -> Iterator[list[Any]]:
    """Divides a layer within the context; gives its divided variables."""
    splittable = splittable_of(layer)
    if axis is None or splittable is None or call.examples is None:
        yield []
        return
    divided = DividedLayer(name, layer, axis, splittable, loopback, call.examples)
    with contextlib.ExitStack() as parts:
        for variable in divided.variables:
            parts.enter_context(variable.as_part())
        divided.install()
        parts.callback(divided.remove)
        yield [each.variable for each in divided.variables]


class _Compute:
    """Runs a layer, with or without its gradients."""

    def __init__(
        self, layer: Any, call: LayerCall, strategy: Any, transfers: list[Transfer]
    ) -> None:
        self._layer = layer
        self._call = tf.nest.map_structure(random_of, tuple(call))
        self._strategy = strategy
        self._transfers = transfers
        self.forward_transfers = 0

    def seconds(self, backward: bool) -> float:
        def on_replica(tensors: list[tf.Tensor]) -> Any:
            return self.train_step(tensors, backward)

        def run(tensors: list[tf.Tensor]) -> Any:
            return self._strategy.run(on_replica, args=(tensors,))

        flat = tf.nest.flatten(self._call)
        tensors = [each for each in flat if isinstance(each, tf.Tensor)]
        return median_seconds(tf.function(run, autograph=False), tensors)

    def train_step(self, tensors: list[tf.Tensor], backward: bool) -> Any:
        # A layer recognises by this function's name that it is called for training.
        given = iter(tensors)
        args, kwargs = tf.nest.map_structure(
            lambda each: next(given) if isinstance(each, tf.Tensor) else each,
            self._call,
        )
        floats = [each for each in tensors if each.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            outputs = self._layer(*args, **kwargs)
            total = tf.add_n([tf.reduce_sum(each) for each in tf.nest.flatten(outputs)])
        self.forward_transfers = len(self._transfers)
        if not backward:
            return total
        weights = [stored(each) for each in self._layer.trainable_variables]
        return first_elements(tape.gradient(total, floats + weights))


def _bytes_of(variable: Any) -> int:
    return variable.shape.num_elements() * variable.dtype.size
