"""Redirection: another function answers lookups, as in a graph to be exported."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import tensorflow as tf

if TYPE_CHECKING:
    from persia_tf.ops.embedding import Route

Answer = Callable[["Route", tf.Tensor], tf.Tensor]
"""Takes where a lookup goes and its ids, int64 of any shape; gives their rows."""

_current = threading.local()


@contextlib.contextmanager
def redirected_to(answer: Answer) -> Iterator[None]:
    """Lets a function answer the lookups of this thread in a `with` block.

    Args:
        answer: Gets the route and the ids of each lookup, int64 of any shape; returns
            float32, `ids.shape + (route.dim,)`.
    """
    _current.answer = answer
    try:
        yield
    finally:
        _current.answer = None


def redirection() -> Answer | None:
    """The function that answers the lookups of this thread, or None."""
    return getattr(_current, "answer", None)
