"""A model traced with other tables in place of those that its layers look up in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3
from persia_tf.ops.absent_rows import AbsentRows
from persia_tf.ops.embedding import Route
from persia_tf.ops.redirection import redirected_to
from persia_tf.serving.captured_resources import captured_resources
from persia_tf.serving.inlined_calls import inlined_calls
from persia_tf.serving.signature import Inputs, named_outputs
from persia_tf.serving.tf_example import ExampleParser

SERVING = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
TF_EXAMPLE = "tf_example"


class LooksUp(Protocol):
    """A table with lookups in a graph: a `tf.Module`."""

    def lookup(self, ids: tf.Tensor, absent: AbsentRows) -> tf.Tensor:
        """Returns the rows of ids (int64): float32, `ids.shape + (dim,)`.

        `absent` says what ids without a row get.
        """


class ExportedModel(tf.Module):
    """A model whose lookups are answered by the given tables.

    Args:
        model: The Keras model.
        inputs: Its inputs.
        tables: The tables that answer lookups, by full name.
        tf_example: Whether to add a signature that accepts tf.Examples.

    Attributes:
        tables: As given. A SavedModel keeps their functions.
        resources: Other objects that the model uses and a SavedModel must track.
        served: The functions of named tensors, by the names of their signatures.

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
        # TensorFlow saves what the attributes of this module hold. Of the model that
        # is its variables only, and of a Keras 3 variable the `tf.Variable` inside:
        # otherwise programs that load the SavedModel without Python would restore
        # copies of the variables.
        self.variables_of_model = [
            variable.value if IS_KERAS_3 else variable for variable in model.variables
        ]
        self.tables = dict(tables)
        self.served = {SERVING: self._of_tensors(model, inputs)}
        if tf_example:
            self.served[TF_EXAMPLE] = self._of_examples(model, inputs)
        # Such as vocabularies. TensorFlow initializes them when it loads the model.
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
        with redirected_to(self._lookup), inlined_calls(model):
            outputs = model(inputs, training=False)
        return named_outputs(model, outputs)

    def _lookup(self, route: Route, ids: tf.Tensor) -> tf.Tensor:
        if route.table not in self.tables:
            raise ValueError(
                f"layer '{route.layer}' is called by the model, but is none of its "
                "layers: make it an attribute of the model. Received: a lookup in "
                f"table '{route.table}'"
            )
        return self.tables[route.table].lookup(ids, route.absent)


def _concrete(function: Callable[..., Any], *specs: Any, **named: Any) -> Any:
    return tf.function(function).get_concrete_function(*specs, **named)
