"""Arrays and the messages that carry them: TensorProto."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import errors

# A few values may stand for a large tensor; this bounds what a request may ask for.
MOST_BYTES = 1 << 30

# Of a string in an array.
_REFERENCE_BYTES = 8


def arrays_of(
    messages: Mapping[str, Any], most_bytes: int = MOST_BYTES
) -> dict[str, np.ndarray]:
    """Returns the arrays of messages, by name.

    Args:
        messages: `TensorProto`s.
        most_bytes: Of each array.

    Raises:
        InvalidArgumentError: If one is not well-formed, or larger; it is named.
    """
    return {
        name: _array(name, message, most_bytes) for name, message in messages.items()
    }


def message_of(array: np.ndarray) -> Any:
    """Returns an array as a `TensorProto`."""
    return tf.make_tensor_proto(array)


def _array(name: str, message: Any, most_bytes: int) -> np.ndarray:
    shape = message.tensor_shape
    sizes = [dim.size for dim in shape.dim]
    if shape.unknown_rank or any(size < 0 for size in sizes):
        raise errors.InvalidArgumentError(
            f"input {name!r} must have a shape that is known. Received: {sizes}"
        )
    try:
        dtype = tf.as_dtype(message.dtype)
        width = dtype.size or _REFERENCE_BYTES
        if math.prod(sizes) * width > most_bytes:
            raise errors.InvalidArgumentError(
                f"input {name!r} must have at most {most_bytes} bytes. Received: "
                f"{dtype.name} of shape {tuple(sizes)}"
            )
        if message.tensor_content and dtype.size:
            # What clients send: TensorFlow's own way takes ten times as long.
            flat = np.frombuffer(message.tensor_content, dtype.as_numpy_dtype)
            return flat.reshape(sizes)
        return tf.make_ndarray(message)
    except (TypeError, ValueError) as error:
        raise errors.InvalidArgumentError(
            f"input {name!r} must be a tensor with as many values as its shape "
            f"{tuple(sizes)} says. Received: {error}"
        ) from error
