"""Finds the tensor of a call whose first axis is that of its examples."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf


def first_tensor(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """Returns the first tensor of a call that has examples.

    It is not the first one by name: a mask may have an axis of size 1 for all examples.

    Args:
        signature: That of the layer's own `call`, whose order counts.
        args: The arguments of the call, with tensors or their `tf.TensorSpec`s.
        kwargs: The arguments of the call by name.

    Returns:
        A tensor, or what has a `shape` like one.
    """
    bound = signature.bind(*args, **kwargs)
    values = tf.nest.flatten(list(bound.arguments.values()))
    return next(each for each in values if _shape_of(each).rank != 0)


def _shape_of(value: Any) -> tf.TensorShape:
    return tf.TensorShape(getattr(value, "shape", ()))
