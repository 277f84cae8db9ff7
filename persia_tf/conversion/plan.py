"""Decides which layers of a model are converted, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.conversion.calls import layer_of
from persia_tf.conversion.regularization import Regularization, Regularizers
from persia_tf.conversion.report import LeftLayer
from persia_tf.layers.ids import DTYPES
from persia_tf.table_settings import initializers

_ROW_DTYPES = ("float32", "bfloat16", "float16")


def is_model_of_layers(layer: Any) -> bool:
    """Returns whether a layer is a Functional or Sequential model, not a subclass."""
    return isinstance(layer, keras.Model) and (
        type(layer) is keras.Sequential or _is_functional(type(layer))
    )


def _is_functional(cls: type) -> bool:
    # tf_keras has no public name for the class Functional, so compare names.
    return cls.__name__ == "Functional" and cls.__module__.startswith(
        ("keras.", "tf_keras.")
    )


class Plan:
    """Decides for each `keras.layers.Embedding` of a model whether it is converted.

    Args:
        model: A Functional or Sequential Keras model.
        min_rows: Layers with fewer rows are not converted.
        regularizers: Decides what to do with the regularizers of layers.

    Attributes:
        converted: The layers that are converted.
        left: The layers that are not.
    """

    def __init__(self, model: Any, min_rows: int, regularizers: Regularizers) -> None:
        self._min_rows = min_rows
        self._regularizers = regularizers
        self._regularization: dict[int, Regularization] = {}
        self._paths: dict[int, str] = {}
        self.converted: list[Any] = []
        self.left: list[LeftLayer] = []
        seen: set[int] = set()
        for path, layer in _layers(model, ""):
            if id(layer) not in seen:
                seen.add(id(layer))
                self._decide(path, layer)

    def converts(self, layer: Any) -> bool:
        """Returns whether the layer becomes a `PersiaEmbedding`."""
        return id(layer) in self._paths

    def path(self, layer: Any) -> str:
        """Returns a converted layer's name, after the names of the models around it."""
        return self._paths[id(layer)]

    def regularization(self, layer: Any) -> Regularization:
        """Returns what replaces the regularizer of a converted layer."""
        return self._regularization[id(layer)]

    def takes_ids(self, layer: Any) -> bool:
        """Returns whether converted layers use all inputs of `layer` only as ids."""
        if not is_model_of_layers(layer):
            return self.converts(layer)
        return all(self.is_input_of_ids(tensor) for tensor in layer.inputs)

    def is_input_of_ids(self, tensor: Any) -> bool:
        """Returns whether a tensor is an input used only as ids by converted layers."""
        layer = tensor._keras_history[0]
        if not isinstance(layer, keras.layers.InputLayer):
            return False
        consumers = [layer_of(node) for node in layer._outbound_nodes]
        return bool(consumers) and all(map(self.takes_ids, consumers))

    def takes_integers(self, layer: Any) -> bool:
        """Returns whether the clone calls a converted layer on integers only."""
        nodes = layer._inbound_nodes
        inputs = [t for node in nodes for t in tf.nest.flatten(node.input_tensors)]
        return bool(inputs) and all(map(self._is_integer, inputs))

    def _is_integer(self, tensor: Any) -> bool:
        dtype = tf.as_dtype(tensor.dtype).name
        return dtype in DTYPES or self.is_input_of_ids(tensor)

    def _decide(self, path: str, layer: Any) -> None:
        if not isinstance(layer, keras.layers.Embedding):
            for inner in layer._flatten_layers(include_self=False):
                if isinstance(inner, keras.layers.Embedding):
                    reason = f"it is inside '{layer.name}', which is copied as a whole"
                    self._leave(f"{path}/{inner.name}", inner, reason)
            return
        reason = why_left(layer, self._min_rows)
        if reason is None:
            self._regularization[id(layer)] = self._regularizers.of(layer)
            reason = self._regularization[id(layer)].reason
        if reason is None:
            self._paths[id(layer)] = path
            self.converted.append(layer)
        else:
            self._leave(path, layer, reason)

    def _leave(self, path: str, layer: Any, reason: str) -> None:
        self.left.append(LeftLayer(path, layer.input_dim, layer.output_dim, reason))


def why_left(layer: Any, min_rows: int) -> str | None:
    """Returns why an `Embedding` is not converted, or None; ignores regularizers."""
    if type(layer) is not keras.layers.Embedding:
        return (
            f"it is a {type(layer).__name__}, which may do more than "
            "keras.layers.Embedding"
        )
    if layer.input_dim < min_rows:
        return f"it has fewer than min_rows={min_rows:,} rows"
    if layer.embeddings_constraint is not None:
        return "rows do not support its embeddings_constraint"
    if getattr(layer, "lora_enabled", False):
        return "it has LoRA weights"
    if getattr(layer, "quantization_mode", None):
        return f"it is quantised to {layer.quantization_mode}"
    if getattr(layer, "sparse", False):
        return "its output is sparse"
    if not layer.built:
        return "it was not built, so it has no rows yet"
    dtype = tf.as_dtype(layer.embeddings.dtype).name
    if dtype not in _ROW_DTYPES:
        return f"its weights are {dtype}, but rows have at most float32"
    return None


def row_initializer(layer: Any) -> tuple[Any, tuple[str, ...]]:
    """Returns the initializer of new rows, and notes on it for the report."""
    try:
        initializer = initializers.get(layer.embeddings_initializer)
        initializers.spec_and_seed(initializer)
    except ValueError:
        name = type(layer.embeddings_initializer).__name__
        return "uniform", (
            f"new ids get uniform rows, since rows do not support {name}",
        )
    if type(initializer).__name__ == "GlorotUniform":
        # Use the same limit as Keras, which depends on `input_dim`. Tables have no
        # `input_dim`, and so would compute a larger limit.
        limit = (6 / (layer.input_dim + layer.output_dim)) ** 0.5
        return keras.initializers.RandomUniform(-limit, limit), ()
    return initializer, ()


def _layers(model: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yields the layers of a model and of models nested in it, with their paths."""
    for layer in model.layers:
        # In Keras 3, `model.layers` may also contain operations: skip these.
        if is_model_of_layers(layer):
            yield from _layers(layer, f"{prefix}{layer.name}/")
        elif isinstance(layer, keras.layers.Layer):
            yield f"{prefix}{layer.name}", layer
