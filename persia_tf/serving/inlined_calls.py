"""Inlines layers whose `call` is a `tf.function` when a model is traced."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import tensorflow as tf


@contextlib.contextmanager
def inlined_calls(model: Any) -> Iterator[None]:
    """Within it, calls of a model's layers whose `call` is a `tf.function` are inlined.

    A `tf.function` caches the graphs that it traced, for instance in training: such a
    graph would look rows up in the layers' own tables.

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
