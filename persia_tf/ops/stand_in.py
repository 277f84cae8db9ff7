"""Lets a function stand in for lookups, for instance to time a step without them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

StandIn = Callable[[Sequence[Any], tf.Tensor, bool], list[tf.Tensor]]
"""Gets what `embedding.lookup` gets: the lookups, the anchor, and whether it joins."""

_current = threading.local()


@contextlib.contextmanager
def stood_in_by(function: StandIn) -> Iterator[None]:
    """Lets a function stand in for the lookups of this thread in a `with` block.

    Nothing is committed meanwhile either, so a step uses no session. Unlike a
    redirection, the function returns what a session would: also bags that are pooled,
    and vectors that are joined. A graph that is traced in the block calls the function
    for ever, so drop such graphs afterwards.

    Args:
        function: Returns the vectors of some lookups, as `embedding.lookup` does.
    """
    _current.function = function
    try:
        yield
    finally:
        _current.function = None


def stand_in() -> StandIn | None:
    """The function that stands in for the lookups of this thread, or None."""
    return getattr(_current, "function", None)
