"""Decides which layers of a model are divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.parallel.divided_variable import stored
from persia_tf.parallel.layer_plan import LayerPlan
from persia_tf.parallel.layout import Layout, check_compiled, strategy_of_model
from persia_tf.parallel.named_layers import splittable_layers
from persia_tf.parallel.owned import OwnedBy
from persia_tf.parallel.planning.agreement import agreed
from persia_tf.parallel.planning.beside_sums import measured_share, share_of_bandwidth
from persia_tf.parallel.planning.layer_calls import LayerCall, input_specs, layer_calls
from persia_tf.parallel.planning.layer_costs import LayerCost, measured_cost
from persia_tf.parallel.planning.least import least
from persia_tf.parallel.planning.network import Network, Transfer
from persia_tf.parallel.planning.step_costs import WHOLE, StepCosts
from persia_tf.parallel.planning.step_overhead import measured_overhead
from persia_tf.parallel.planning.timeline import Machine
from persia_tf.parallel.planning.timing import Timing
from persia_tf.parallel.planning.whole_model import forward_and_backward, update_curve
from persia_tf.parallel.plans import Plan, weight_shapes
from persia_tf.parallel.splitting.splittable import splittable_of
from persia_tf.parallel.tags import Tag, tag_of

_MOST = 1 << 40


def plan(
    model: Any,
    batch_size: int,
    workers: int | None = None,
    bandwidth: float | None = None,
    *,
    group_size: int | None = None,
    inputs: Any = None,
    verbose: int = 1,
) -> Plan:
    """Decides for each layer whether a group of workers divides it.

    Each layer that can be divided is run on this worker with random inputs, as a whole
    and in parts, to measure its computing time. The time of exchanges is measured
    between the workers, or follows from `bandwidth`. From these, the time of a step is
    predicted, and the placements with the least time are chosen. Tagged layers
    (`ptf.parallel.tag`) are placed as their tags say. All workers must call this
    function, and get the same plan.

    With `workers` and `bandwidth`, a single process can make a plan for a cluster: its
    model must be made within the scope of a `HierarchicalStrategy` too.

    Example:

    ```python
    with strategy.scope():
        model = make_model()
        model.compile("adam", "binary_crossentropy")
        plan = ptf.parallel.plan(model, batch_size=4096)
        print(plan)
        plan.apply(model)
    ```

    Args:
        model: A built and compiled Keras model.
        batch_size: The number of examples of a global batch, over all workers.
        workers: The number of workers. Defaults to None: those of the strategy.
        bandwidth: The bytes per second that a worker can receive. Defaults to None: it
            is measured.
        group_size: The number of workers in a group. Defaults to None: the strategy's,
            or all workers if `workers` is given.
        inputs: A batch of what the model is called with, of any size. Needed if the
            model is neither functional nor sequential, or if an input has an axis of
            unknown size besides that of the examples: then with typical sizes.
        verbose: 1 for a progress bar, since measuring may take minutes; 0 for none.
            Defaults to `1`.

    Returns:
        The plan.

    Raises:
        ValueError: if the model was not made in the scope of a `HierarchicalStrategy`,
            if it is not compiled, if `workers` is another number than the strategy's
            and no bandwidth is given, if `inputs` is needed, or if an argument is out
            of its range.
    """
    strategy = strategy_of_model(model)
    check_compiled(model)
    batch_size = checks.integer("batch_size", batch_size, 1, _MOST)
    verbose = checks.integer("verbose", verbose, 0, 1)
    workers, group_size = _sizes(strategy, workers, group_size, bandwidth)
    with strategy.scope():
        planner = _Planner(model, strategy, batch_size, workers, group_size, inputs)
        return planner.plan(bandwidth, verbose)


def _sizes(
    strategy: Any, workers: int | None, group_size: int | None, bandwidth: float | None
) -> tuple[int, int]:
    if group_size is None:
        group_size = strategy.group_size if workers is None else workers
    workers = strategy.workers if workers is None else workers
    workers = checks.integer("workers", workers, 1, _MOST)
    group_size = checks.integer("group_size", group_size, 1, workers)
    if workers % group_size:
        raise ValueError(
            "`workers` must be a multiple of `group_size`. "
            f"Received: workers={workers}, group_size={group_size}"
        )
    if bandwidth is not None:
        checks.positive("bandwidth", bandwidth)
    elif (workers, group_size) != (strategy.workers, strategy.group_size):
        raise ValueError(
            "`bandwidth` must be given for other workers than the strategy's, since it "
            f"cannot be measured. Received: workers={workers}, "
            f"group_size={group_size}, bandwidth=None, with {strategy.workers} workers "
            f"in groups of {strategy.group_size}"
        )
    return workers, group_size


class _Planner:
    """Makes one plan."""

    def __init__(
        self,
        model: Any,
        strategy: Any,
        batch_size: int,
        workers: int,
        group_size: int,
        inputs: Any,
    ) -> None:
        self._model = model
        self._strategy = strategy
        self._batch_size = batch_size
        self._workers = workers
        self._group_size = group_size
        self._layers = dict(splittable_layers(model))
        self._own_batch = -(-batch_size // workers)
        self._specs = input_specs(model, inputs, self._own_batch)
        self._calls = layer_calls(model, list(self._layers.values()), self._specs)
        self._layout = Layout(strategy)
        self._timing = Timing(self._layout.workers)

    def plan(self, bandwidth: float | None, verbose: int) -> Plan:
        """Measures, chooses, and returns the plan."""
        allowed = {name: self._allowed(name) for name in self._called()}
        progress = keras.utils.Progbar(
            len(allowed) + 1, verbose=verbose, unit_name="measurement"
        )
        layers = {}
        for name, axes in allowed.items():
            layers[name] = self._costs(name, axes)
            progress.add(1)
        costs = StepCosts(layers, self._machine(layers, bandwidth))
        progress.add(1)
        costs = _scaled(agreed(costs, self._layout.workers))
        chosen = least(costs, allowed)
        return Plan(
            batch_size=self._batch_size,
            workers=self._workers,
            group_size=self._group_size,
            layers=tuple(
                self._layer_plan(name, costs, chosen.get(name, WHOLE))
                for name in self._layers
            ),
            costs=costs,
        )

    def _called(self) -> list[str]:
        """The layers that are called, in the order of their calls."""
        by_id = {id(layer): name for name, layer in self._layers.items()}
        return [by_id[each] for each in self._calls]

    def _allowed(self, name: str) -> tuple[str, ...]:
        """Returns the axes along which a layer may be divided, or `WHOLE`."""
        layer = self._layers[name]
        axes = self._axes(layer, self._calls[id(layer)])
        wanted = tag_of(layer)
        return (WHOLE, *axes) if wanted is None else _tagged(name, wanted, axes)

    def _costs(self, name: str, allowed: Sequence[str]) -> dict[str, LayerCost]:
        layer = self._layers[name]
        given = (name, layer, self._calls[id(layer)])
        then = (self._group_size, self._strategy, self._timing)
        return {
            axis: measured_cost(*given, axis or None, *then)
            for axis in dict.fromkeys((WHOLE, *allowed))
        }

    def _axes(self, layer: Any, call: LayerCall) -> list[str]:
        splittable = splittable_of(layer)
        if self._group_size == 1 or not call.is_known or splittable is None:
            return []
        return [
            axis
            for axis in splittable.axes(layer)
            if all(
                isinstance(dimension, OwnedBy)
                or variable.shape[dimension] % self._group_size == 0
                for variable, dimension in splittable.divided_weights(layer, axis)
            )
        ]

    def _machine(
        self, layers: Mapping[str, Mapping[str, LayerCost]], bandwidth: float | None
    ) -> Machine:
        forward, backward = forward_and_backward(
            self._model, self._specs, self._strategy, self._timing
        )
        whole = [each[WHOLE] for each in layers.values()]
        weights = [stored(each) for each in self._model.trainable_variables]
        total = sum(each.shape.num_elements() * each.dtype.size for each in weights)
        networks = self._networks(bandwidth)
        of_sum = networks[1].seconds(Transfer("sum", 0))
        overhead = measured_overhead(self._strategy, self._specs) - of_sum
        return Machine(
            *networks,
            update=update_curve(self._model.optimizer, self._strategy, self._timing),
            overhead=max(0.0, overhead),
            other_forward=forward - sum(each.forward for each in whole),
            other_backward=backward - sum(each.all_backward for each in whole),
            other_bytes=total - sum(each.whole_bytes for each in whole),
        )

    def _networks(
        self, bandwidth: float | None
    ) -> tuple[Network, Network, Network, float]:
        """Returns the networks of the group, of all and of peers, and `sums_share`."""
        layout = self._layout
        if bandwidth is None:
            group, workers, peers = _measured(layout)
            return group, workers, peers, measured_share(layout.workers)
        group, workers, peers = (
            Network.of_bandwidth(each, bandwidth)
            for each in (
                self._group_size,
                self._workers,
                self._workers // self._group_size,
            )
        )
        return group, workers, peers, share_of_bandwidth(workers.curves["sum"])

    def _layer_plan(self, name: str, costs: StepCosts, chosen: str) -> LayerPlan:
        layer = self._layers[name]
        groups = self._workers // self._group_size
        received = costs.layer_bytes(name, self._workers, self._group_size, groups)
        call = self._calls.get(id(layer))
        return LayerPlan(
            name=name,
            kind=type(layer).__name__,
            placement="model" if chosen else "data",
            axis=chosen or None,
            parameters=layer.count_params(),
            shapes=weight_shapes(layer),
            examples=None if call is None else call.examples,
            data_bytes=received.get(WHOLE, 0.0),
            bytes=received.get(chosen, 0.0),
            divisions={axis: size for axis, size in received.items() if axis},
        )


def _measured(layout: Layout) -> tuple[Network, Network, Network]:
    """Measures the networks of the group, of all and of peers."""
    workers = Network.measured(layout.workers)
    peers = Network.measured(layout.peers)
    is_one_group = layout.group.size == layout.workers.size
    group = workers if is_one_group else Network.measured(layout.group)
    return group, workers, peers


def _scaled(costs: StepCosts) -> StepCosts:
    """Makes layers take no more time together than the whole model.

    A layer takes longer by itself than in a model if it is small.
    """
    machine = costs.machine
    forward = sum(each[WHOLE].forward for each in costs.layers.values())
    backward = sum(each[WHOLE].all_backward for each in costs.layers.values())
    forward_scale = 1 + min(0.0, machine.other_forward) / (forward or 1.0)
    backward_scale = 1 + min(0.0, machine.other_backward) / (backward or 1.0)
    layers = {
        name: {
            axis: cost.scaled(forward_scale, backward_scale)
            for axis, cost in each.items()
        }
        for name, each in costs.layers.items()
    }
    return StepCosts(
        layers,
        machine._replace(
            other_forward=max(0.0, machine.other_forward),
            other_backward=max(0.0, machine.other_backward),
        ),
    )


def _tagged(name: str, wanted: Tag, axes: Sequence[str]) -> tuple[str, ...]:
    """Returns the choices that a tag leaves."""
    if wanted.placement == "data":
        return (WHOLE,)
    left = tuple(axis for axis in axes if wanted.axis in (None, axis))
    if not left:
        raise ValueError(
            f"the layer {name} is tagged as divided"
            + (f" by {wanted.axis}" if wanted.axis else "")
            + ", but cannot be: the sizes of its weights must be multiples of the "
            "number of workers in a group, the size of the batch must be that of its "
            "input's first axis, and sizes of its inputs must not depend on the data. "
            f"Received: a layer that allows {list(axes)}"
        )
    return left
