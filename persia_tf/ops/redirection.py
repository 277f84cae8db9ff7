"""Redirection: lookups that another function answers, as in a graph to be exported."""

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
    """While it lasts, lookups of this thread are answered by a function.

    Args:
        answer: Gets the ids of each lookup, int64 of any shape, and returns float32
            of `ids.shape + (route.dim,)`.
    """
    _current.answer = answer
    try:
        yield
    finally:
        _current.answer = None


def redirection() -> Answer | None:
    """What answers the lookups of this thread, if they are redirected."""
    return getattr(_current, "answer", None)
