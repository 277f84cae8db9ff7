"""Where a program is in its data."""

from __future__ import annotations

from typing import Any, NamedTuple


class Position(NamedTuple):
    """The next row of an epoch.

    Attributes:
        epoch: The number of the epoch, from 0.
        part: The number of the part at which the rows that are mixed begin, in the
            order of the epoch.
        rows: How many of the mixed rows were read.
    """

    epoch: int
    part: int = 0
    rows: int = 0

    def to_json(self) -> list[int]:
        """Returns values that JSON can hold."""
        return list(self)

    @classmethod
    def from_json(cls, values: Any) -> Position:
        """Returns the position of which `to_json` made values."""
        return cls(*map(int, values))
