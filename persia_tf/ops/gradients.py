"""Custom gradients, which can be left out of graphs that are never differentiated."""

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
    """Disables custom gradients of functions that this thread calls in the block.

    Use it for graphs that are never differentiated: TensorFlow never frees the custom
    gradient of a function that was called in a graph, and so never frees the graph.
    """
    outer = getattr(_current, "are_left_out", False)
    _current.are_left_out = True
    try:
        yield
    finally:
        _current.are_left_out = outer


def custom_gradient(function: Callable[..., tuple[Any, Any]]) -> Callable[..., Any]:
    """Returns `tf.custom_gradient(function)`, which respects `without_gradients`.

    In a block of `without_gradients`, the returned function only computes the outputs.

    Args:
        function: Returns its outputs and their gradient function.
    """

    @functools.wraps(function)
    def call(*inputs: tf.Tensor) -> Any:
        if getattr(_current, "are_left_out", False):
            outputs, _ = function(*inputs)
            return outputs
        return tf.custom_gradient(function)(*inputs)

    return call
