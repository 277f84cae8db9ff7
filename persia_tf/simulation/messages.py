"""The bytes of the messages of a lookup and of an update."""

from __future__ import annotations

import dataclasses

from persia_tf.base import wire
from persia_tf.simulation.setup import Setup

LOOKUP, UPDATE = "lookup", "update"
_ID_BYTES = 8


@dataclasses.dataclass(frozen=True)
class Sizes:
    """The bytes of a message with a request, and of the message with its reply."""

    request: float
    reply: float


def sizes_of(kind: str, setup: Setup, rows: float) -> Sizes:
    """Returns the bytes of the messages between a client and one shard.

    Args:
        kind: `LOOKUP` or `UPDATE`.
        setup: Whose tables and rows they are about.
        rows: The number of rows that the shard is asked for, or whose gradients it
            gets.
    """
    ids, vectors = _ID_BYTES * rows, setup.row_bytes * rows
    if kind == LOOKUP:
        head = wire.LOOKUP_BYTES + wire.LOOKUP_TABLE_BYTES * setup.tables
        return Sizes(head + ids, wire.LOOKUP_REPLY_BYTES + vectors)
    head = wire.update_bytes() + wire.UPDATE_TABLE_BYTES * setup.tables
    return Sizes(head + ids + vectors, wire.UPDATE_REPLY_BYTES)
