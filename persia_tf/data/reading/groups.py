"""Which rows of an epoch are mixed with each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Group(NamedTuple):
    """Rows that are mixed: whole batches, but for the last ones of an epoch.

    Attributes:
        part: The number of the part, in the order of the epoch, that has the first row.
        skipped: How many rows of that part lie before the group.
        rows: How many rows the group has.
        until: The number of the part after the last one that is read for it.
    """

    part: int
    skipped: int
    rows: int
    until: int


class Grouping:
    """Divides an epoch into groups while its parts become known, one after the other.

    A group ends in the first part with which it has `least` rows. Its last rows, if
    they fill no batch, belong to the next group. So where a group begins depends only
    on the rows of the parts since the last beginning.

    Args:
        parts: How many parts an epoch has.
        batch_size: The rows of a batch.
        least: The least number of rows that are mixed.
        part: The part at which the first group begins.
        skipped: How many of its rows are left out.
    """

    def __init__(
        self, parts: int, batch_size: int, least: int, part: int, skipped: int
    ) -> None:
        self._last = parts - 1
        self._batch_size = batch_size
        self._least = max(least, batch_size)
        self._first = (part, skipped)
        self._waiting: list[tuple[int, int]] = []  # Of each part, where it ends.
        self._rows = -skipped

    @property
    def first(self) -> tuple[int, int]:
        """The part at which the next group begins, and the rows before it."""
        return self._first

    def add(self, part: int, rows: int) -> Group | None:
        """Adds the next part; returns the group that ends in it, if one does."""
        self._rows += rows
        self._waiting.append((part, rows))
        if self._rows < self._least and part < self._last:
            return None
        rest = self._rows % self._batch_size if part < self._last else 0
        group = Group(*self._first, self._rows - rest, part + 1)
        self._begin_before(rest)
        return group

    def _begin_before(self, rest: int) -> None:
        """Begins a group that has the last rows of the parts so far."""
        kept: list[tuple[int, int]] = []
        self._rows = rest
        part, rows = self._waiting[-1]
        self._first = (part + 1, 0)
        while rest > 0:
            part, rows = self._waiting.pop()
            kept.append((part, rows))
            self._first = (part, max(rows - rest, 0))
            rest -= rows
        self._waiting = kept[::-1]


def groups(
    rows: Iterable[int], parts: int, batch_size: int, least: int
) -> Iterator[Group]:
    """Yields the groups of an epoch, given the rows of its parts in their order."""
    grouping = Grouping(parts, batch_size, least, 0, 0)
    for part, count in enumerate(rows):
        group = grouping.add(part, count)
        if group is not None:
            yield group
