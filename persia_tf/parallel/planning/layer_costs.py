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
from persia_tf.parallel.planning.timing import Timing, first_elements
from persia_tf.parallel.splitting.splittable import splittable_of


class LayerCost(NamedTuple):
    """The cost of a layer in a step, on one worker.

    Attributes:
        forward: Seconds of computing, without exchanges.
        backward: The same for the gradients of the inputs.
        weights_backward: The same for the gradients of the weights.
        forward_transfers: What is exchanged within the group before the next layer.
        backward_transfers: The same for gradients.
        whole_bytes: The bytes of gradients that all workers add up.
        part_bytes: The bytes of gradients that the groups add up.
    """

    forward: float
    backward: float
    weights_backward: float
    forward_transfers: tuple[Transfer, ...]
    backward_transfers: tuple[Transfer, ...]
    whole_bytes: int
    part_bytes: int

    @property
    def all_backward(self) -> float:
        """Seconds of computing all gradients, without exchanges."""
        return self.backward + self.weights_backward

    def scaled(self, forward: float, backward: float) -> LayerCost:
        """Returns the cost of a layer that computes for so many times as long."""
        return self._replace(
            forward=self.forward * forward,
            backward=self.backward * backward,
            weights_backward=self.weights_backward * backward,
        )

    def times(self, calls: int) -> LayerCost:
        """Returns the cost of a layer that is called several times in a step."""
        return self.scaled(calls, calls)._replace(
            forward_transfers=self.forward_transfers * calls,
            backward_transfers=self.backward_transfers * calls,
        )


def measured_cost(
    name: str,
    layer: Any,
    call: LayerCall,
    axis: str | None,
    members: int,
    strategy: Any,
    timing: Timing,
) -> LayerCost:
    """Runs a layer with random inputs, and measures what it costs.

    Args:
        name: The layer's name in the plan.
        layer: A built layer.
        call: How the model calls it on one worker.
        axis: The axis of its division, or None if each worker has the whole layer.
        members: The number of workers in a group.
        strategy: The strategy in whose scope the layer was built.
        timing: Times functions.

    Returns:
        The cost. If the sizes of the inputs depend on the data, the layer is not run,
        and what it computes counts as that of the rest of the model.
    """
    if not call.is_known:
        weights = [stored(each) for each in layer.trainable_variables]
        return LayerCost(0.0, 0.0, 0.0, (), (), sum(map(_bytes_of, weights)), 0)
    loopback = LoopbackMembers(members)
    with _placed(name, layer, call, axis, loopback) as divided:
        compute = _Compute(layer, call, strategy, loopback.transfers)
        forward = timing.seconds(*compute.function([]))
        inputs = compute.inputs
        of_inputs = timing.seconds(*compute.function(inputs)) if inputs else forward
        loopback.transfers.clear()
        weights = [stored(each) for each in layer.trainable_variables]
        both = timing.seconds(*compute.function(inputs + weights))
        parts = {id(stored(each)) for each in divided}
        part_bytes = sum(_bytes_of(each) for each in weights if id(each) in parts)
        whole_bytes = sum(map(_bytes_of, weights)) - part_bytes
    transfers = loopback.transfers
    return LayerCost(
        forward,
        max(0.0, of_inputs - forward),
        max(0.0, both - max(forward, of_inputs)),
        tuple(transfers[: compute.forward_transfers]),
        tuple(transfers[compute.forward_transfers :]),
        whole_bytes,
        part_bytes,
    ).times(call.times)


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
    """Runs a layer, with or without gradients."""

    def __init__(
        self, layer: Any, call: LayerCall, strategy: Any, transfers: list[Transfer]
    ) -> None:
        self._layer = layer
        self._call = tf.nest.map_structure(random_of, (call.args, call.kwargs))
        self._is_first = call.is_first
        self._strategy = strategy
        self._transfers = transfers
        self.forward_transfers = 0

    @property
    def inputs(self) -> list[int]:
        """The places of the inputs of which a step needs gradients."""
        if self._is_first:
            return []
        tensors = self._tensors()
        return [i for i, each in enumerate(tensors) if each.dtype.is_floating]

    def function(self, sources: list[Any]) -> tuple[Any, list[tf.Tensor]]:
        """Returns a function that runs the layer, and its argument.

        Args:
            sources: The weights, and places of inputs, whose gradients are computed.
        """

        def on_replica(tensors: list[tf.Tensor]) -> Any:
            return self.train_step(tensors, sources)

        def run(tensors: list[tf.Tensor]) -> Any:
            return self._strategy.run(on_replica, args=(tensors,))

        return tf.function(run, autograph=False), self._tensors()

    def train_step(self, tensors: list[tf.Tensor], sources: list[Any]) -> Any:
        # A layer recognises by this function's name that it is called for training.
        given = iter(tensors)
        args, kwargs = tf.nest.map_structure(
            lambda each: next(given) if isinstance(each, tf.Tensor) else each,
            self._call,
        )
        of = [tensors[each] if isinstance(each, int) else each for each in sources]
        with tf.GradientTape() as tape:
            tape.watch([each for each in of if isinstance(each, tf.Tensor)])
            outputs = self._layer(*args, **kwargs)
            total = tf.add_n([tf.reduce_sum(each) for each in tf.nest.flatten(outputs)])
        self.forward_transfers = len(self._transfers)
        return first_elements(tape.gradient(total, of)) if of else total

    def _tensors(self) -> list[tf.Tensor]:
        flat = tf.nest.flatten(self._call)
        return [each for each in flat if isinstance(each, tf.Tensor)]


def _bytes_of(variable: Any) -> int:
    return variable.shape.num_elements() * variable.dtype.size
