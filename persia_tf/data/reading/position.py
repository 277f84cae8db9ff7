"""Where a program is in its data."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """A place between two batches of an epoch.

    Attributes:
        epoch: The number of the epoch, from 0.
        batch: How many batches of the epoch lie before it.
        part: The number, in the order of the epoch, of the part at which the rows that
            are mixed with the next row begin.
        skipped: How many rows of that part lie before these rows.
        rows: How many of the mixed rows were read.
    """

    epoch: int
    batch: int = 0
    part: int = 0
    skipped: int = 0
    rows: int = 0
