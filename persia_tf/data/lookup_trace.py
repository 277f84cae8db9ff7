"""Extracts from a model a function that computes the ids the model looks up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.layers.replicas import strategy_of
from persia_tf.ops.gradients import without_gradients
from persia_tf.ops.recording import RecordedLookup, recording


class LookupTrace:
    """The part of a model that computes ids.

    The model is traced once, while its layers record their ids instead of looking them
    up. Then all ops that the ids do not depend on are pruned. So every kind of model
    can be traced, and only the ops that compute ids run twice.

    Args:
        model: A Keras model.
        element_spec: The element spec of the dataset that `fit` gets.
        caller: The name of the function that traces the model, for messages.
        argument: The name of that function's argument with the elements.

    Raises:
        ValueError: if the model has no lookups, or cannot be called with an element.
        PersiaError: if the model's layers cannot be built, since a shard refuses their
            tables or does not answer.
    """

    def __init__(
        self,
        model: Any,
        element_spec: Any,
        caller: str = "ptf.data.prefetch",
        argument: str = "dataset",
    ) -> None:
        inputs_spec, *_ = keras.utils.unpack_x_y_sample_weight(element_spec)
        with without_gradients():
            with _naming_elements(element_spec, caller, argument):
                _settle(model, inputs_spec)
            self._function, self.lookups = _trace(model, inputs_spec, caller)

    lookups: Sequence[RecordedLookup]
    """The lookups, in the model's order. `ids` returns ids in the same order."""

    def ids(self, element: Any) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Returns the ids of each lookup for an element of the dataset.

        Args:
            element: An element that fits the `element_spec` of the trace.

        Returns:
            A pair for each lookup: its ids (int64), and the row splits of its bags
            (int32).
        """
        inputs, *_ = keras.utils.unpack_x_y_sample_weight(element)
        return self._function(*tf.nest.flatten(inputs, expand_composites=True))


@contextlib.contextmanager
def _naming_elements(element_spec: Any, caller: str, argument: str) -> Iterator[None]:
    """Adds to errors of a model's call which call it was, and with what."""
    try:
        yield
    except Exception as error:
        _raise_of_shards(error)
        raise ValueError(
            f"`{caller}` called `model` with an element of `{argument}`, to find its "
            "lookups, and the call failed. Elements must be batches, `x`, `(x, y)` or "
            "`(x, y, sample_weight)`, whose `x` has the names, shapes and dtypes of "
            f"the model's inputs: call `dataset.batch` before `{caller}`. Received: "
            f"{argument}.element_spec={element_spec}. The model's error: "
            f"{_without_stack(error)}"
        ) from error


def _without_stack(error: BaseException) -> str:
    """Returns an error's message, without the calls that AutoGraph adds to it."""
    metadata = getattr(error, "ag_error_metadata", None)
    return getattr(metadata, "cause_message", None) or str(error)


def _raise_of_shards(error: BaseException) -> None:
    """Raises the `PersiaError` behind an error, if there is one.

    AutoGraph replaces exceptions that it cannot construct with exceptions of its own.
    """
    known: BaseException | None = error
    while known is not None:
        if isinstance(known, errors.PersiaError):
            raise known
        known = known.__cause__ or known.__context__


def _settle(model: Any, inputs_spec: Any) -> None:
    """Traces a call of the model, so that it creates its state for these inputs.

    The first call of an unbuilt model creates variables, and tf_keras's `Sequential`
    rebuilds its graph for a new input shape. Neither may happen while lookups are
    recorded. The call is only traced: no op runs.
    """
    strategy = strategy_of(model)
    with strategy.scope() if strategy is not None else contextlib.nullcontext():
        call = tf.function(lambda inputs: model(inputs, training=False))
        call.get_concrete_function(inputs_spec)


def _trace(
    model: Any, inputs_spec: Any, caller: str
) -> tuple[Callable[..., list[tuple[tf.Tensor, tf.Tensor]]], list[RecordedLookup]]:
    lookups: list[RecordedLookup] = []

    def record(*flat_inputs: tf.Tensor) -> list[tuple[tf.Tensor, tf.Tensor]]:
        inputs = tf.nest.pack_sequence_as(
            inputs_spec, flat_inputs, expand_composites=True
        )
        with recording(caller) as recorder:
            model(inputs, training=True)
        lookups.extend(recorder.lookups)
        return recorder.ids

    flat_specs = tf.nest.flatten(inputs_spec, expand_composites=True)
    traced = tf.compat.v1.wrap_function(record, flat_specs)
    if not lookups:
        raise ValueError(
            "`model` must call at least one PersiaEmbedding layer, since otherwise "
            f"there is nothing for `{caller}` to find. Received: model={model!r}"
        )
    feeds = traced.inputs[: len(flat_specs)]
    return traced.prune(feeds, traced.structured_outputs), lookups
