"""Traces a model for export, with other tables in place of its layers' tables."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3
from persia_tf.ops.absent_rows import AbsentRows
from persia_tf.ops.redirection import redirected_to
from persia_tf.ops.route import Route
from persia_tf.serving.captured_resources import captured_resources
from persia_tf.serving.export_signature import Inputs, named_outputs
from persia_tf.serving.tf_example import ExampleParser

SERVING = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
TF_EXAMPLE = "tf_example"


class LooksUp(Protocol):
    """A `tf.Module` that is a table, in which a TensorFlow graph can look rows up."""

    def lookup(self, ids: tf.Tensor, absent: AbsentRows) -> tf.Tensor:
        """Returns the rows of ids (int64): float32, `ids.shape + (dim,)`.

        `absent` determines the vectors of ids without a row.
        """


class ExportedModel(tf.Module):
    """A model whose lookups are answered by the given tables.

    Args:
        model: The Keras model.
        inputs: The model's inputs.
        tables: The tables that answer lookups, by full name.
        tf_example: Whether to add a signature that accepts tf.Examples.

    Attributes:
        tables: The argument `tables`. A SavedModel includes the tables' functions.
        resources: Other objects that the model uses and that a SavedModel must track.
        served: The functions to serve, by signature name. They take named tensors, and
            return named tensors.

    Raises:
        ValueError: if the model calls a layer that it does not track, or a tf.Example
            cannot hold an input.
    """

    def __init__(
        self,
        model: Any,
        inputs: Inputs,
        tables: Mapping[str, LooksUp],
        tf_example: bool,
    ) -> None:
        super().__init__()
        # TensorFlow saves what the attributes of this module refer to. The module does
        # not refer to the model or to Keras 3 variables, but only to the `tf.Variable`s
        # inside them: otherwise programs that load the SavedModel without Python would
        # restore copies of the variables.
        self.variables_of_model = [
            variable.value if IS_KERAS_3 else variable for variable in model.variables
        ]
        self.tables = dict(tables)
        self.served = {SERVING: self._of_tensors(model, inputs)}
        if tf_example:
            self.served[TF_EXAMPLE] = self._of_examples(model, inputs)
        # Resources, such as vocabularies, must be attributes of this module, so that
        # TensorFlow initializes them when it loads the SavedModel.
        self.resources = captured_resources(self.served.values(), self)

    def _of_tensors(self, model: Any, inputs: Inputs) -> Any:
        def serve(**tensors: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._call(model, inputs.structure(tensors))

        return _concrete(serve, **inputs.tensors)

    def _of_examples(self, model: Any, inputs: Inputs) -> Any:
        parser = ExampleParser(inputs)

        def serve(examples: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._call(model, parser.parse(examples))

        return _concrete(serve, tf.TensorSpec((None,), tf.string, name="examples"))

    def _call(self, model: Any, inputs: Any) -> dict[str, tf.Tensor]:
        with redirected_to(self._lookup), _inlined_calls(model):
            outputs = model(inputs, training=False)
        return named_outputs(model, outputs)

    def _lookup(self, route: Route, ids: tf.Tensor) -> tf.Tensor:
        if route.table not in self.tables:
            raise ValueError(
                f"the model calls layer '{route.layer}', which is not one of its "
                "layers: make it an attribute of the model. Received: a lookup in "
                f"table '{route.table}'"
            )
        return self.tables[route.table].lookup(ids, route.absent)


def _concrete(function: Callable[..., Any], *specs: Any, **named: Any) -> Any:
    return tf.function(function).get_concrete_function(*specs, **named)


@contextlib.contextmanager
def _inlined_calls(model: Any) -> Iterator[None]:
    """Inlines layers whose `call` is a `tf.function`, while the `with` block runs.

    A `tf.function` caches the graphs that it traced, for instance in training. Such a
    graph would look rows up in the layers' own tables, not in those of an export.

    Args:
        model: A Keras model.
    """
    with contextlib.ExitStack() as restored:
        for layer in model._flatten_layers(include_self=True):
            function = inspect.getattr_static(layer, "call", None)
            if isinstance(function, tf.types.experimental.PolymorphicFunction):
                restored.enter_context(_calling(layer, function.python_function))
        yield


@contextlib.contextmanager
def _calling(layer: Any, body: Any) -> Iterator[None]:
    own = vars(layer).get("call")
    if not inspect.ismethod(body):
        body = types.MethodType(body, layer)
    # Bypasses Keras's `__setattr__`, which would track the attribute.
    object.__setattr__(layer, "call", body)
    try:
        yield
    finally:
        if own is None:
            object.__delattr__(layer, "call")
        else:
            object.__setattr__(layer, "call", own)
