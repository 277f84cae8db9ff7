"""How many bytes a message between a trainer and a shard has.

The layouts are those of `cc/wire/frame.h`, `cc/wire/row_messages.cc`,
`cc/wire/id_layout.h` and `cc/wire/vector_codec.h`. Encryption is not counted, as in the
counters of `ptf.metrics` and `persia status`.
"""

from __future__ import annotations

import os
import socket

import numpy as np

FRAME_BYTES = 32
LOOKUP_BYTES = FRAME_BYTES + 40
LOOKUP_TABLE_BYTES = 48
LOOKUP_REPLY_BYTES = FRAME_BYTES + 16
UPDATE_TABLE_BYTES = 56
UPDATE_REPLY_BYTES = FRAME_BYTES + 24

_PLAIN_ID_BYTES = 8


def update_bytes() -> int:
    """Returns the bytes of an update without tables, which names the program."""
    program = f"{socket.gethostname()}:{os.getpid()}"
    fixed = 4 * 8 + 3 * 4  # Numbers of the request, and the length of the name.
    return FRAME_BYTES + _padded(fixed + len(program.encode()))


def id_width(ids: np.ndarray, wire_dtype: str) -> int:
    """Returns how many bytes each of some ids takes in a message, at most 8."""
    if wire_dtype == "float32" or not len(ids):
        return _PLAIN_ID_BYTES
    width = max(1, -(-(int(ids.max()) - int(ids.min())).bit_length() // 8))
    packed = _PLAIN_ID_BYTES + _padded(len(ids) * width)
    return width if packed < len(ids) * _PLAIN_ID_BYTES else _PLAIN_ID_BYTES


def ids_bytes(ids: np.ndarray, wire_dtype: str) -> int:
    """Returns the bytes of the ids of one table in a message to one shard."""
    width = id_width(ids, wire_dtype)
    if width == _PLAIN_ID_BYTES:
        return len(ids) * width
    return _PLAIN_ID_BYTES + _padded(len(ids) * width)


def offsets_bytes(bags: int) -> int:
    """Returns the bytes that say which ids belong to which of some bags."""
    return _padded(4 * (bags + 1))


def vectors_bytes(count: int, dim: int, wire_dtype: str) -> int:
    """Returns the bytes of some vectors of one table in a message, padded."""
    return _padded(encoded_bytes(count, dim, wire_dtype))


def encoded_bytes(count: int, dim: int, wire_dtype: str) -> int:
    """Returns the bytes of some encoded vectors, without padding."""
    if wire_dtype == "float32":
        return count * dim * 4
    if wire_dtype == "float16":
        return 8 + count * dim * 2
    if wire_dtype == "bfloat16":
        return count * dim * 2
    if wire_dtype == "int8":
        return count * (4 + dim)
    return count * (2 + -(-dim // 2))  # int4


def gradients_dtype(wire_dtype: str, of_bags: bool) -> str:
    """Returns the dtype of gradients in a message."""
    return "int8" if of_bags and wire_dtype == "int4" else wire_dtype


def _padded(size: int) -> int:
    return -(-size // 8) * 8
