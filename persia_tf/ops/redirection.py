"""Redirects lookups to another function, for instance in a graph for an export."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import tensorflow as tf

from persia_tf.ops.route import Route

Answer = Callable[[Route, tf.Tensor], tf.Tensor]
"""Maps the route and the ids (int64, any shape) of a lookup to the ids' rows."""

_current = threading.local()


@contextlib.contextmanager
def redirected_to(answer: Answer) -> Iterator[None]:
    """Lets a function answer the lookups of this thread in a `with` block.

    Args:
        answer: The function. It gets the route and the ids (int64, any shape) of each
            lookup, and returns the rows: float32, `ids.shape + (route.dim,)`.
    """
    _current.answer = answer
    try:
        yield
    finally:
        _current.answer = None


def redirection() -> Answer | None:
    """The function that answers the lookups of this thread, or None."""
    return getattr(_current, "answer", None)
