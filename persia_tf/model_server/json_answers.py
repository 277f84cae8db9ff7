"""Writes answers in the JSON format of TensorFlow Serving's REST API.

    {"predictions": [...]}  for the row format
    {"outputs": ...}        for the column format

An answer is written in parts, since the JSON library holds the interpreter's lock while
it writes: other threads can run between two parts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from persia_tf import errors
from persia_tf.model_server.batching import Outputs
from persia_tf.model_server.byte_budget import Share

_B64 = "b64"

# Outputs whose names end in this suffix are written as bytes, not as text.
_BYTES_SUFFIX = "_bytes"

_VALUES_AT_ONCE = 512

# The memory that a string takes in addition to its bytes: for a reference in an array,
# and for a Python object.
_STRING_BYTES = 8 + 48

# The number of copies of an answer until the client has read it: one in this module,
# and one in the connection's buffer.
_COPIES = 2


def dump(value: Any) -> str:
    """Returns a short value as JSON, with NaN and Infinity written as these words."""
    return json.dumps(value)


def is_large(outputs: Outputs) -> bool:
    """Whether outputs have so many values that writing them takes long."""
    return sum(array.size for array in outputs.values()) > _VALUES_AT_ONCE


def size(outputs: Outputs) -> int:
    """Returns how many bytes of memory a model's outputs take."""
    return sum(
        array.nbytes if array.dtype != object else _size_of_strings(array.ravel())
        for array in outputs.values()
    )


def answer(outputs: Outputs, in_rows: bool, share: Share) -> bytes:
    """Returns the JSON text of an answer.

    Args:
        outputs: The model's outputs: arrays by name.
        in_rows: Whether the answer is in the row format.
        share: The request's share of the memory budget, charged for the answer.

    Raises:
        InvalidArgumentError: If `in_rows` is set, and the outputs' first axes do not
            have equal lengths.
        PersiaError: If the memory budget is exhausted.
    """
    if in_rows:
        _check_rows(outputs)
    written = bytearray()
    for part in _rows(outputs) if in_rows else _columns(outputs):
        share.take(_COPIES * len(part))
        written += part.encode()
    return bytes(written)


def _size_of_strings(flat: np.ndarray) -> int:
    parts = range(0, len(flat), _VALUES_AT_ONCE)
    lengths = sum(sum(map(len, flat[at : at + _VALUES_AT_ONCE])) for at in parts)
    return lengths + _STRING_BYTES * len(flat)


def _check_rows(outputs: Outputs) -> None:
    lengths = {name: array.shape[:1] for name, array in outputs.items()}
    if len(set(lengths.values())) != 1 or () in lengths.values():
        raise errors.InvalidArgumentError(
            'with "instances", all outputs must have the same number of rows: ask '
            f'with "inputs" instead. Lengths: {lengths}'
        )


def _columns(outputs: Outputs) -> Iterator[str]:
    yield '{"outputs": '
    if len(outputs) == 1:
        for name, array in outputs.items():
            yield from _array(name, array)
    else:
        yield "{"
        for index, (name, array) in enumerate(outputs.items()):
            yield f"{', ' if index else ''}{json.dumps(name)}: "
            yield from _array(name, array)
        yield "}"
    yield "}"


def _rows(outputs: Outputs) -> Iterator[str]:
    yield '{"predictions": '
    if len(outputs) == 1:
        for name, array in outputs.items():
            yield from _array(name, array)
    else:
        yield "["
        count = len(next(iter(outputs.values())))
        of_row = sum(array.size for array in outputs.values()) // max(1, count)
        step = max(1, _VALUES_AT_ONCE // max(1, of_row))
        for begin in range(0, count, step):
            values = [
                _value(name, array[begin : begin + step])
                for name, array in outputs.items()
            ]
            rows = [dict(zip(outputs, row)) for row in zip(*values)]
            yield f"{', ' if begin else ''}{json.dumps(rows)[1:-1]}"
        yield "]"
    yield "}"


def _array(name: str, array: np.ndarray) -> Iterator[str]:
    if array.ndim == 0 or array.size <= _VALUES_AT_ONCE:
        yield json.dumps(_value(name, array))
        return
    yield "["
    of_row = array.size // len(array)
    step = max(1, _VALUES_AT_ONCE // of_row)
    for begin in range(0, len(array), step):
        if begin:
            yield ", "
        if of_row > _VALUES_AT_ONCE:
            yield from _array(name, array[begin])
        else:
            yield json.dumps(_value(name, array[begin : begin + step]))[1:-1]
    yield "]"


def _value(name: str, array: np.ndarray) -> Any:
    if array.dtype != object:
        # NumPy reports kind V for TensorFlow's own dtypes, such as bfloat16. Values of
        # these dtypes are written as float32.
        wide = array.astype(np.float32) if array.dtype.kind == "V" else array
        return wide.tolist()
    as_bytes = name.endswith(_BYTES_SUFFIX)
    texts = [_text(each, as_bytes) for each in array.ravel().tolist()]
    return _nested(texts, array.shape)


def _text(value: bytes, as_bytes: bool) -> Any:
    if not as_bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            pass
    return {_B64: base64.b64encode(value).decode()}


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    array = np.empty(len(flat), object)
    array[:] = flat
    return array.reshape(shape).tolist()
