"""Clones Functional and Sequential models, and replaces some of their layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.conversion.plan import is_model_of_layers
from persia_tf.layers.ids import DTYPES


class Cloner:
    """Clones a model and the models nested in it. Layers that they share stay shared.

    Args:
        replace: A function that takes a layer, and returns the layer that replaces it,
            or None if the layer is to be copied.
        is_input_of_ids: A function that takes the tensor of an input, and returns
            whether the clone's input becomes int64.
    """

    def __init__(
        self,
        replace: Callable[[Any], Any],
        is_input_of_ids: Callable[[Any], bool],
    ) -> None:
        self._replace = replace
        self._is_input_of_ids = is_input_of_ids
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
