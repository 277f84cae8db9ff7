"""Plans: which layers of a model are divided among the workers of a group."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from persia_tf.base import checks
from persia_tf.parallel.applied import AppliedPlan, check_not_applied
from persia_tf.parallel.compression import encodings
from persia_tf.parallel.compression.encodings import Encoding
from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.layer_plan import LayerPlan
from persia_tf.parallel.layout import Layout, check_compiled, strategy_of_model
from persia_tf.parallel.named_layers import splittable_layers
from persia_tf.parallel.plan_table import plan_table
from persia_tf.parallel.planning.step_costs import WHOLE, StepCosts
from persia_tf.parallel.splitting.splittable import splittable_of
from persia_tf.parallel.tags import PLACEMENTS

_FORMAT = 2


@dataclasses.dataclass(frozen=True)
class Plan:
    """The placements of a model's layers, for a batch size and a number of workers.

    `print(plan)` shows it as a table. `plan.apply(model)` divides the layers.

    Attributes:
        batch_size: The examples of a global batch, over all workers.
        workers: The number of workers.
        group_size: The number of workers in a group.
        layers: The layers that can be divided.
        costs: What was measured, from which the time of a step is predicted.
        gradients: How gradients are sent; None for as they are.
        activations: How divided layers' activations are sent in training; None for as
            they are.
    """

    batch_size: int
    workers: int
    group_size: int
    layers: tuple[LayerPlan, ...]
    costs: StepCosts
    gradients: Encoding | None = None
    activations: Encoding | None = None

    def __str__(self) -> str:
        return plan_table(self)

    @property
    def step_seconds(self) -> float | None:
        """The predicted time of a step; None with encodings, which are not measured.

        It is that of `fit` without lookups of rows, which `fit` prefetches.
        """
        if self.gradients is not None or self.activations is not None:
            return None
        return self.costs.step_seconds(
            {layer.name: layer.axis or WHOLE for layer in self.layers}
        )

    @property
    def data_step_seconds(self) -> float:
        """The predicted time of a step if no layer is divided."""
        return self.costs.step_seconds({})

    def place(self, layer: str, placement: str, axis: str | None = None) -> Plan:
        """Returns a plan in which a layer is placed differently.

        Args:
            layer: The name of the layer in the plan's table.
            placement: `"data"` or `"model"`.
            axis: The axis of the division, if the placement is `"model"`. Defaults to
                None: the layer's first one.

        Returns:
            The new plan.

        Raises:
            ValueError: if the plan has no such layer, or if the layer cannot be divided
                along this axis.
        """
        checks.one_of("placement", placement, PLACEMENTS)
        names = [each.name for each in self.layers]
        checks.one_of("layer", layer, tuple(names))
        old = self.layers[names.index(layer)]
        new = _placed(old, placement, axis)
        layers = tuple(new if each is old else each for each in self.layers)
        return dataclasses.replace(self, layers=layers)

    def encode(
        self,
        gradients: Encoding | None = None,
        activations: Encoding | None = None,
    ) -> Plan:
        """Returns a plan in which workers exchange fewer bytes.

        Example:

        ```python
        plan = plan.encode(gradients=ptf.parallel.Threshold())
        ```

        Args:
            gradients: How gradients are sent: `ptf.parallel.Threshold`, `Int8` or
                `Float16`. What is left out is added to later gradients. Defaults to
                None: as they are.
            activations: How the activations of divided layers, and their gradients, are
                sent in training. Defaults to None: as they are.

        Returns:
            The new plan. It predicts no step time.
        """
        return dataclasses.replace(
            self,
            gradients=encodings.get("gradients", gradients),
            activations=encodings.get("activations", activations),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the plan to a file, as JSON."""
        values = {
            "format": _FORMAT,
            "batch_size": self.batch_size,
            "workers": self.workers,
            "group_size": self.group_size,
            "layers": [dataclasses.asdict(layer) for layer in self.layers],
            "costs": self.costs.to_json(),
            "gradients": encodings.serialize(self.gradients),
            "activations": encodings.serialize(self.activations),
        }
        with open(path, "w") as file:
            json.dump(values, file, indent=1)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Reads a plan that `save` wrote.

        Args:
            path: The file.

        Raises:
            ValueError: if the file has no plan, or one of another version.
        """
        with open(path) as file:
            try:
                values = json.load(file)
                if values.pop("format") != _FORMAT:
                    raise ValueError("another format")
                layers = [LayerPlan(**each) for each in values.pop("layers")]
                values["costs"] = StepCosts.from_json(values["costs"])
                for name in ("gradients", "activations"):
                    values[name] = encodings.deserialize(values[name])
                return cls(layers=tuple(layers), **values)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    "`path` must be a file that `Plan.save` of this version wrote. "
                    f"Received: path={os.fspath(path)!r} ({error})"
                ) from error

    def apply(self, model: Any) -> AppliedPlan:
        """Divides the layers of a model. All workers must call it.

        Afterwards `fit`, `evaluate` and `predict` compute the divided layers together.
        `save`, `save_weights`, `load_weights`, `get_weights`, `set_weights`, `export`
        and `ptf.serving.export` see the whole model; all workers must call them.

        Args:
            model: The built and compiled model, made in the scope of a
                `ptf.distribute.HierarchicalStrategy`.

        Returns:
            The applied plan: `with applied.whole():` joins the model for a while, and
            `applied.remove()` for good.

        Raises:
            ValueError: if the plan is for another model or other workers, with what
                differs; if the model is not compiled, or if a plan is applied to it.
        """
        strategy = strategy_of_model(model)
        check_compiled(model)
        check_not_applied(model)
        self._check_workers(strategy)
        layers = dict(splittable_layers(model))
        self._check_layers(layers)
        layout = Layout(strategy)
        divided = [
            DividedLayer(
                each.name,
                layers[each.name],
                each.axis,
                splittable_of(layers[each.name]),
                layout.group,
                each.examples,
                self.activations,
            )
            for each in self.layers
            if each.placement == "model" and self.group_size > 1
        ]
        with strategy.scope():
            return AppliedPlan(model, divided, layout, self.gradients)

    def _check_workers(self, strategy: Any) -> None:
        made_for = (self.workers, self.group_size)
        here = (strategy.workers, strategy.group_size)
        if made_for != here:
            raise ValueError(
                "the plan must be for the workers that apply it: make it again by "
                "`ptf.parallel.plan`. Received: a plan for "
                f"{made_for[0]} workers in groups of {made_for[1]}, on {here[0]} "
                f"workers in groups of {here[1]}"
            )

    def _check_layers(self, layers: Mapping[str, Any]) -> None:
        planned = {each.name: (each.kind, each.shapes) for each in self.layers}
        found = {
            name: (type(layer).__name__, weight_shapes(layer))
            for name, layer in layers.items()
        }
        differences = [
            f"{name}: the plan has {_described(planned.get(name))}, "
            f"the model has {_described(found.get(name))}"
            for name in sorted({*planned, *found})
            if planned.get(name) != found.get(name)
        ]
        if differences:
            raise ValueError(
                "the plan must be for the model that it is applied to: make it again "
                "by `ptf.parallel.plan`. Received a plan that differs at "
                + "; ".join(differences)
                + _hint_at_names(planned, found)
            )


def _hint_at_names(planned: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    if planned.keys() == found.keys():
        return ""
    return (
        ". Layers are found by their names: give them names, since those that Keras "
        "gives count up when a model is made again"
    )


def weight_shapes(layer: Any) -> list[list[int]]:
    """Returns the shapes of a layer's weights."""
    return [[int(size) for size in each.shape] for each in layer.weights]


def _described(layer: tuple[str, list[list[int]]] | None) -> str:
    return "no such layer" if layer is None else f"{layer[0]} with weights {layer[1]}"


def _placed(layer: LayerPlan, placement: str, axis: str | None) -> LayerPlan:
    if placement == "data":
        return dataclasses.replace(
            layer, placement=placement, axis=None, bytes=layer.data_bytes
        )
    if axis is None and layer.divisions:
        axis = next(iter(layer.divisions))
    if axis not in layer.divisions:
        raise ValueError(
            f"`axis` must be one along which the layer {layer.name} can be divided: "
            f"{list(layer.divisions) or 'there is none'}. Received: axis={axis!r}"
        )
    return dataclasses.replace(
        layer, placement=placement, axis=axis, bytes=layer.divisions[axis]
    )
