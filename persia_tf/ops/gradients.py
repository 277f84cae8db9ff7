"""Functions with gradients of their own, left out of a trace that trains nothing."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

_current = threading.local()


@contextlib.contextmanager
def without_gradients() -> Iterator[None]:
    """While it lasts, functions of `custom_gradient` that this thread calls have none.

    For graphs that nobody takes gradients of: TensorFlow never forgets the gradient of
    a function that was called in a graph, nor therefore the graph.
    """
    outer = getattr(_current, "are_left_out", False)
    _current.are_left_out = True
    try:
        yield
    finally:
        _current.are_left_out = outer


def custom_gradient(function: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """Returns `tf.custom_gradient(function)`, or within `without_gradients` less.

    Args:
        function: Returns its outputs, and the function of their gradients.
    """

    @functools.wraps(function)
    def call(*inputs: tf.Tensor) -> Any:
        if getattr(_current, "are_left_out", False):
            outputs, _ = function(*inputs)
            return outputs
        return tf.custom_gradient(function)(*inputs)

    return call
