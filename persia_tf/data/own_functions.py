"""Lets datasets own their functions, so that these are freed with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf


@contextlib.contextmanager
def own_functions() -> Iterator[None]:
    """Makes datasets that are created in a `with` block the only owners of functions.

    `Dataset.scan` also adds its function, and the functions which that calls, to the
    default graph. In eager mode that is one graph that lives as long as the program and
    never frees them. In the block, another graph is the default one, and execution is
    still eager.
    """
    eager_mode = _eager_mode()
    if not tf.executing_eagerly() or eager_mode is None:
        yield
        return
    with tf.Graph().as_default(), eager_mode():
        yield


def _eager_mode():
    """Returns TensorFlow's `eager_mode`, or None if this version does not expose it."""
    context = getattr(getattr(tf, "__internal__", None), "eager_context", None)
    return getattr(context, "eager_mode", None)
