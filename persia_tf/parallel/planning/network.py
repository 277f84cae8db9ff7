"""How long exchanges take, by their kind and size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import tensorflow as tf

from persia_tf.parallel.members import Members
from persia_tf.parallel.planning.timing import median_seconds

KINDS = ("gather", "exchange", "sum")

_SMALL_BYTES = 16 << 10
_LARGE_BYTES = 2 << 20
# Between machines of one data centre.
_LATENCY_SECONDS = 1e-4


class Transfer(NamedTuple):
    """One exchange: its kind, and the bytes that this worker puts in."""

    kind: str
    size: int

    def bytes_received(self, members: int) -> float:
        """Returns the bytes that a member receives from the others."""
        if self.kind == "gather":
            return self.size * (members - 1)
        if self.kind == "exchange":
            return self.size * (members - 1) / members
        return 2 * self.size * (members - 1) / members


class Line(NamedTuple):
    """A time that grows with the size: seconds, and seconds per byte put in."""

    fixed: float
    per_byte: float

    def seconds(self, size: float) -> float:
        """Returns the time for so many bytes."""
        return self.fixed + self.per_byte * size


class Network:
    """The cost of exchanges among some workers.

    Args:
        lines: The cost of each of `KINDS`.
    """

    def __init__(self, lines: Mapping[str, Line]) -> None:
        self.lines = dict(lines)

    @classmethod
    def of_bandwidth(cls, members: int, bandwidth: float) -> Network:
        """Returns the network of machines whose bandwidth is known.

        Args:
            members: The number of workers.
            bandwidth: Bytes per second that each can receive.
        """
        rounds = {"gather": members - 1, "exchange": 1, "sum": 2 * (members - 1)}
        return cls(
            {
                kind: Line(
                    _LATENCY_SECONDS * rounds[kind],
                    Transfer(kind, 1).bytes_received(members) / bandwidth,
                )
                for kind in KINDS
            }
        )

    @classmethod
    def measured(cls, members: Members) -> Network:
        """Measures the network between some workers. Collective."""
        return cls({kind: _measured_line(members, kind) for kind in KINDS})

    def seconds(self, transfer: Transfer) -> float:
        """Returns how long an exchange takes."""
        return self.lines[transfer.kind].seconds(transfer.size)


def _measured_line(members: Members, kind: str) -> Line:
    if members.size == 1:
        return Line(0.0, 0.0)
    small = _measured_seconds(members, kind, _SMALL_BYTES)
    large = _measured_seconds(members, kind, _LARGE_BYTES)
    per_byte = max(0.0, (large - small) / (_LARGE_BYTES - _SMALL_BYTES))
    return Line(max(0.0, small - per_byte * _SMALL_BYTES), per_byte)


def _measured_seconds(members: Members, kind: str, size: int) -> float:
    value = tf.zeros([members.size, size // 4 // members.size])
    operation = tf.function(
        lambda value: getattr(members, kind)(value, f"probe/{kind}")
    )
    return median_seconds(operation, value)
