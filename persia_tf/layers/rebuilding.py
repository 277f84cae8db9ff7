"""Rebuilds subclassed models from a file.

When Keras rebuilds a subclassed model, it knows only the shapes of the model's inputs,
and calls the model with float32 placeholders. If that call fails, Keras 3 logs a
warning and skips the weights of layers that were not built. So the file of a model with
a `PersiaEmbedding` also stores the specs of the model's inputs, and loading raises an
error if some saved weights belong to no built layer.
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator
from typing import Any

from absl import logging

from persia_tf._keras import keras
from persia_tf.layers.model_inputs import call_with, inputs_of, note_inputs_of_callers

# The key of this module's entry in a model's build config.
_KEY = "persia_tf"


class Rebuilding:
    """A layer's part in rebuilding the model that it belongs to.

    Args:
        layer: The layer's name.
    """

    def __init__(self, layer: str) -> None:
        self._layer = layer
        self._is_noted = False
        self._model: _Remade | None = None

    def on_call(self, is_eager: bool) -> None:
        """Records the inputs of the models that are calling the layer.

        Args:
            is_eager: Whether the call is eager, not traced. Of eager calls only the
                first is inspected, to save time.
        """
        if is_eager and self._is_noted:
            return
        self._is_noted = self._is_noted or is_eager
        note_inputs_of_callers()

    def belongs_to(self, model: _Remade) -> None:
        """Sets the model, rebuilt from a file, that the layer belongs to."""
        self._model = model

    def check(self, is_built: bool) -> None:
        """Checks, before rows are loaded, that all saved weights have a built layer.

        Args:
            is_built: Whether the layer is built.

        Raises:
            ValueError: if layers that have saved weights are not built.
        """
        if self._model is not None:
            self._model.check(self._layer)
        elif not is_built:
            raise ValueError(
                f"layer '{self._layer}' is not built, and neither is its model, so "
                "saved weights cannot be loaded yet. Call the model on a batch first, "
                "and then `load_weights`."
            )

    def __deepcopy__(self, memo: Any) -> Rebuilding:
        return Rebuilding(self._layer)


class _Remade:
    """A model that was rebuilt from a file.

    Args:
        model: The model.
        weights: How many weights the model had when it was saved, without those of
            `PersiaEmbedding` layers.
        error: The message of the exception that a call of the rebuilt model raised;
            empty if none.
    """

    def __init__(self, model: Any, weights: int, error: str) -> None:
        self._model = weakref.ref(model)
        self._weights = weights
        self._error = error

    def check(self, layer: str) -> None:
        model = self._model()
        if model is None:
            return
        weights = _count_weights(model)
        if weights >= self._weights:
            return
        unbuilt = [f"'{each.name}'" for each in _layers_of(model) if not each.built]
        reason = f" Its call raised: {self._error}" if self._error else ""
        raise ValueError(
            f"model '{model.name}' of layer '{layer}' could not be rebuilt from its "
            f"file: only {weights} of its {self._weights} dense weights exist, so no "
            f"row was loaded. Not built are {', '.join(unbuilt)}. Create the model "
            "with your own code, call it on a batch, and then call `load_weights` on "
            f"the same file.{reason}"
        )


def _layers_of(model: Any) -> Iterator[Any]:
    return model._flatten_layers()


def _parts_in(model: Any) -> list[Rebuilding]:
    parts = (getattr(layer, "_rebuilding", None) for layer in _layers_of(model))
    return [part for part in parts if isinstance(part, Rebuilding)]


def _count_weights(model: Any) -> int:
    """Counts a model's weights without those of `PersiaEmbedding` layers."""
    found, left_out = set(), set()
    for layer in _layers_of(model):
        is_ours = isinstance(getattr(layer, "_rebuilding", None), Rebuilding)
        (left_out if is_ours else found).update(map(id, _weights_of(layer)))
    return len(found - left_out)


def _weights_of(layer: Any) -> list[Any]:
    try:
        return layer.weights
    except ValueError:  # Raised by a tf_keras model that is not built.
        return []


def _is_made_of_layers(model: Any) -> bool:
    """Whether Keras rebuilds a model from its layers and their input specs."""
    if isinstance(model, keras.Sequential):
        return False  # A Sequential model may lack an Input.
    return getattr(model, "inputs", None) is not None


def _get_build_config(keras_own: Any, model: Any) -> dict[str, Any] | None:
    config = keras_own(model)
    if _is_made_of_layers(model) or not _parts_in(model):
        return config
    known = {"inputs": inputs_of(model), "weights": _count_weights(model)}
    # tf_keras requires the key `input_shape`.
    return {"input_shape": None, **(config or {}), _KEY: json.dumps(known)}


def _build_from_config(keras_own: Any, model: Any, config: dict[str, Any]) -> None:
    config = dict(config or {})
    known = json.loads(config.pop(_KEY, "null"))
    if known is None or model.built:
        keras_own(model, config)
        return
    error = ""
    try:
        if known["inputs"] is not None:
            call_with(model, known["inputs"])
        elif config.get("input_shape") or config.get("shapes_dict"):
            keras_own(model, config)
    except Exception as raised:  # The model's own code may raise anything.
        logging.warning(
            "model '%s' could not be called while it was rebuilt from its file: %s",
            *(model.name, raised),
        )
        error = str(raised)
    remade = _Remade(model, known["weights"], error)
    for part in _parts_in(model):
        part.belongs_to(remade)


def _extend(name: str, function: Any) -> None:
    """Replaces a method of `keras.Model`.

    Args:
        name: The name of the method.
        function: The new method. Its first argument is the original method.
    """
    keras_own = getattr(keras.Model, name)

    @functools.wraps(keras_own)
    def method(model: Any, *args: Any) -> Any:
        return function(keras_own, model, *args)

    setattr(keras.Model, name, method)


# Keras calls these two methods on models only, so a layer cannot override them for its
# model. For a model without a `PersiaEmbedding`, both return Keras's own result.
_extend("get_build_config", _get_build_config)
_extend("build_from_config", _build_from_config)
