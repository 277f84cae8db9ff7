"""Lets a layer that is divided go on computing with its own code."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf


@contextlib.contextmanager
def replaced_call(layer: Any, call: Callable[..., Any]) -> Iterator[None]:
    """Within the context, a layer within the divided one computes something else.

    So the `call` of the divided layer itself can be used, in the version of Keras that
    there is, although one of the layers that it calls exchanges its outputs.

    Args:
        layer: The layer within.
        call: Takes the arguments of its `call`.
    """
    layer.call = tf.autograph.experimental.do_not_convert(call)
    try:
        yield
    finally:
        del layer.__dict__["call"]
