"""Checks while a graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf


def checked(value: tf.Tensor, holds: tf.Tensor, told: Sequence[Any]) -> tf.Tensor:
    """Returns a tensor that exists only if a condition holds.

    Args:
        value: The tensor.
        holds: bool scalar: the condition.
        told: What the `InvalidArgumentError` says otherwise: strings and tensors.
    """
    check = tf.debugging.Assert(holds, list(told))
    with tf.control_dependencies([] if check is None else [check]):
        return tf.identity(value)
