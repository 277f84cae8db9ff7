"""Layers whose `call` is a `tf.function`, as a graph that takes its body instead."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import tensorflow as tf


@contextlib.contextmanager
def inlined_calls(model: Any) -> Iterator[None]:
    """Within it, such layers of a model are traced anew wherever they are called.

    A `tf.function` keeps the graphs that it traced, as for training, and would give one
    with the layers' own lookups.

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
    # As Python does it: Keras would look at what is set, and track it.
    object.__setattr__(layer, "call", body)
    try:
        yield
    finally:
        if own is None:
            object.__delattr__(layer, "call")
        else:
            object.__setattr__(layer, "call", own)
