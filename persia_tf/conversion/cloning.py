"""Clones Functional and Sequential models, and replaces some of their layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.conversion.calls import (
    call_again,
    calls_of,
    inputs_of,
    layer_of,
    outputs_of,
    replaced,
)
from persia_tf.conversion.plan import is_model_of_layers
from persia_tf.conversion.sharing import SharedLookup
from persia_tf.layers.ids import DTYPES


class Cloner:
    """Clones a model and the models nested in it. Layers that they share stay shared.

    Args:
        replace: A function that takes a layer, and returns the layer that replaces it,
            or None if the layer is to be copied.
        is_input_of_ids: A function that takes the tensor of an input, and returns
            whether the clone's input becomes int64.
        shared: The layers that one `PersiaEmbeddings` replaces, which `replace` returns
            for each of them; None if there are no such layers.
    """

    def __init__(
        self,
        replace: Callable[[Any], Any],
        is_input_of_ids: Callable[[Any], bool],
        shared: SharedLookup | None = None,
    ) -> None:
        self._replace = replace
        self._is_input_of_ids = is_input_of_ids
        self._shared = shared
        # Originals and their clones, by `id(original)`. The reference to an original
        # keeps Python from using its `id` for another object.
        self._clones: dict[int, tuple[Any, Any]] = {}

    def clone(self, layer: Any) -> Any:
        """Returns the clone of a model or a layer, which the first call creates.

        Args:
            layer: A Keras model, layer, or operation of Keras 3.

        Raises:
            ValueError: if a layer cannot be created from its config.
        """
        if id(layer) not in self._clones:
            self._clones[id(layer)] = (layer, self._new(layer))
        return self._clones[id(layer)][1]

    def _new(self, layer: Any) -> Any:
        if is_model_of_layers(layer):
            if isinstance(layer, keras.Sequential):
                return self._sequential(layer)
            if self._shared and self._shared.nodes and layer is self._shared.model:
                return self._functional_with(self._shared)
            return self._functional(layer)
        # Operations and Lambdas have no weights, so the clone uses the same objects. A
        # Lambda must not be copied: its config contains only its code, so a copy could
        # not access the names of the module in which the Lambda was written.
        if not isinstance(layer, keras.layers.Layer) or _is_lambda(layer):
            return layer
        return self._replace(layer) or _copy(layer)

    def _sequential(self, model: Any) -> Any:
        layers = [self.clone(layer) for layer in model.layers]
        inputs = self._input_layer(model.inputs[0])
        return keras.Sequential([inputs, *layers], name=model.name)

    def _functional(self, model: Any) -> Any:
        clone_model = keras.models.clone_model
        if not IS_KERAS_3:
            inputs = [self._input_layer(tensor).output for tensor in model.inputs]
            return clone_model(model, inputs, clone_function=self.clone)
        inputs = keras.tree.map_structure(
            lambda tensor: self._input_layer(tensor).output, model.input
        )
        # Clone a new model of the same graph, which is not compiled. Keras would also
        # compile the clone of a compiled model, which fails if the loss, for example,
        # cannot be created from a config.
        graph = keras.Model(model.input, model.output, name=model.name)
        return clone_model(graph, inputs, clone_function=self.clone)

    def _functional_with(self, shared: SharedLookup) -> Any:
        """Clones a model in which one layer replaces several others.

        `clone_model` replaces one layer at a time, as soon as that layer's inputs are
        there. But the ids of all shared lookups must be computed before their layer is
        called, and what follows any of them is called after it.
        """
        model = shared.model
        tensors = {id(each): self._input_layer(each).output for each in model.inputs}
        calls = [node for node in calls_of(model) if not shared.has(layer_of(node))]
        behind = self._call_all(calls, tensors)
        self._look_up(shared, tensors)
        self._call_all(behind, tensors)
        inputs, outputs = (replaced(x, tensors) for x in (model.input, model.output))
        return keras.Model(inputs, outputs, name=model.name)

    def _call_all(self, nodes: list[Any], tensors: dict[int, Any]) -> list[Any]:
        """Calls the clones of layers, and returns the nodes whose inputs are missing.

        Args:
            nodes: Calls of the original layers, each after those that it depends on.
            tensors: The clones of tensors, by the `id` of the original; this adds the
                results of the calls.
        """
        missing = []
        for node in nodes:
            if all(id(each) in tensors for each in inputs_of(node)):
                call_again(node, self.clone(layer_of(node)), tensors)
            else:
                missing.append(node)
        return missing

    def _look_up(self, shared: SharedLookup, tensors: dict[int, Any]) -> None:
        """Calls the layer of all shared lookups, and adds its results to `tensors`."""
        layer = self.clone(layer_of(shared.nodes[0]))
        ids = {
            layer_of(node).name: tensors[id(inputs_of(node)[0])]
            for node in shared.nodes
        }
        vectors = layer(ids)
        for node in shared.nodes:
            tensors[id(outputs_of(node)[0])] = vectors[layer_of(node).name]

    def _input_layer(self, tensor: Any) -> Any:
        layer = tensor._keras_history[0]
        config = layer.get_config()
        holds_ids = tf.as_dtype(tensor.dtype).name in DTYPES
        if not holds_ids and self._is_input_of_ids(tensor):
            config["dtype"] = "int64"
        return type(layer).from_config(config)


def _is_lambda(layer: Any) -> bool:
    return type(layer) is keras.layers.Lambda


def _copy(layer: Any) -> Any:
    try:
        return type(layer).from_config(layer.get_config())
    except Exception as error:  # A layer's own code may raise anything.
        raise ValueError(
            f"layer '{layer.name}' ({type(layer).__name__}) cannot be created again "
            "from its config, so the model cannot be cloned: give the layer a "
            "`get_config` that returns the arguments of its constructor. "
            f"Received: {error}"
        ) from error
