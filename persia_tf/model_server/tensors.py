"""Converts between arrays and `TensorProto` messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import errors
from persia_tf.model_server.served_signature import Signature

# The largest size of a request's arrays in memory. The size of a message is no bound: a
# small message can describe a large tensor by a single value that fills the tensor.
MOST_BYTES = 1 << 30

# The size of a reference to a string in an array, in bytes.
_REFERENCE_BYTES = 8

# The largest number of dimensions that an array may have in NumPy before version 2.
_MOST_DIMENSIONS = 32


def arrays_of(
    messages: Mapping[str, Any], signature: Signature, most_bytes: int = MOST_BYTES
) -> dict[str, np.ndarray]:
    """Converts the messages of a request to arrays that match a signature.

    No array is created before the size of all arrays is known to be within the limit.

    Args:
        messages: `TensorProto`s by input name.
        signature: The signature whose inputs the messages are.
        most_bytes: The largest total size of the arrays, in bytes.

    Raises:
        InvalidArgumentError: If the messages do not match the signature's inputs, are
            too large together, or one of them is malformed. The error names the input.
    """
    signature.check_names(messages)
    for name, message in messages.items():
        _check_type(name, message, signature)
    left = most_bytes
    for name, message in messages.items():
        left -= _bytes_of(name, message)
        if left < 0:
            raise errors.InvalidArgumentError(
                f"inputs must have at most {most_bytes} bytes together. Received: "
                f"{most_bytes - left} bytes or more, up to input {name!r}"
            )
    arrays = {name: _array(name, message) for name, message in messages.items()}
    signature.check(arrays)
    return arrays


def message_of(array: np.ndarray) -> Any:
    """Returns an array as a `TensorProto`."""
    return tf.make_tensor_proto(array)


def _check_type(name: str, message: Any, signature: Signature) -> None:
    """Raises InvalidArgumentError unless a message has the dtype of its input."""
    spec = signature.inputs[name]
    if message.dtype == spec.dtype.as_datatype_enum:
        return
    try:
        came = tf.as_dtype(message.dtype).name
    except TypeError:
        came = f"unknown type number {message.dtype}"
    sizes = ", ".join(map(str, _sizes(message)[:_MOST_DIMENSIONS]))
    raise errors.InvalidArgumentError(
        f"input {name!r} of signature {signature.name!r} must be {spec}. Received: "
        f"{came} of shape ({sizes})"
    )


def _bytes_of(name: str, message: Any) -> int:
    """Returns an array's size in bytes according to its message's shape and dtype."""
    shape = message.tensor_shape
    rank = len(shape.dim)
    if rank > _MOST_DIMENSIONS:
        raise errors.InvalidArgumentError(
            f"input {name!r} must have at most {_MOST_DIMENSIONS} dimensions. "
            f"Received: {rank}"
        )
    sizes = _sizes(message)
    if shape.unknown_rank or any(size < 0 for size in sizes):
        raise errors.InvalidArgumentError(
            f"input {name!r} must have a shape that is known. Received: {sizes}"
        )
    return math.prod(sizes) * (tf.as_dtype(message.dtype).size or _REFERENCE_BYTES)


def _array(name: str, message: Any) -> np.ndarray:
    sizes = _sizes(message)
    try:
        dtype = tf.as_dtype(message.dtype)
        if message.tensor_content and dtype.size:
            # Most messages contain their values as raw bytes. For these, `make_ndarray`
            # would take ten times as long.
            flat = np.frombuffer(message.tensor_content, dtype.as_numpy_dtype)
            return flat.reshape(sizes)
        return tf.make_ndarray(message)
    except (TypeError, ValueError, OverflowError) as error:
        raise errors.InvalidArgumentError(
            f"input {name!r} must be a tensor with as many values as its shape "
            f"{tuple(sizes)} says, each of its type. Received: {error}"
        ) from error


def _sizes(message: Any) -> list[int]:
    return [dim.size for dim in message.tensor_shape.dim]
