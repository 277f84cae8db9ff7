"""Datasets whose functions go with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf


@contextlib.contextmanager
def own_functions() -> Iterator[None]:
    """While it lasts, functions of datasets that are made are kept by these alone.

    `Dataset.scan` puts its function, and those that this calls, into the default graph
    too: where things run at once, that is one graph for the life of the program, which
    forgets none. Here it is another graph, and things still run at once.
    """
    eager_mode = _eager_mode()
    if not tf.executing_eagerly() or eager_mode is None:
        yield
        return
    with tf.Graph().as_default(), eager_mode():
        yield


def _eager_mode():
    """TensorFlow's own, if this version shows it to Keras."""
    context = getattr(getattr(tf, "__internal__", None), "eager_context", None)
    return getattr(context, "eager_mode", None)
