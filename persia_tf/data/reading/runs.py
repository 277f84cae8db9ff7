"""Batches that follow each other, and what of them lies in one piece of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


class Run(NamedTuple):
    """Batches that follow each other in a table.

    Attributes:
        rows: A `pyarrow.Table`.
        first: The number of the first batch's first row.
        batch_size: The rows of a batch; the last one may have fewer.
        positions: The position after each batch.
        is_end: Whether the epoch ends with the last batch. None if that is not known.
    """

    rows: Any
    first: int
    batch_size: int
    positions: Sequence[Any]
    is_end: bool | None

    def batch(self, number: int) -> Any:
        """Returns the table of a batch, of which the first one has the number 0."""
        at = self.first + number * self.batch_size
        return self.rows.slice(at, self.batch_size)

    def batches(self) -> Iterator[Any]:
        """Yields the table of each batch."""
        return map(self.batch, range(len(self.positions)))


class Piece(NamedTuple):
    """Some batches of a run.

    Attributes:
        chunk: The number of the chunk that has their rows. None for one batch whose
            rows lie in several chunks.
        first: The number of the first row, in the chunk or else in the table.
        count: How many batches there are.
    """

    chunk: int | None
    first: int
    count: int


def pieces(run: Run, lengths: Sequence[int]) -> Iterator[Piece]:
    """Yields the pieces of a run, given the rows of each chunk of its table."""
    size, count = run.batch_size, len(run.positions)
    last = sum(lengths)
    done = begin = 0
    for chunk, length in enumerate(lengths):
        end = begin + length
        at = run.first + done * size
        # The last batch may be smaller.
        whole = count - done if end == last else max(end - at, 0) // size
        whole = min(whole, count - done)
        if whole:
            yield Piece(chunk, at - begin, whole)
            done += whole
            at += whole * size
        if done < count and at < end:
            yield Piece(None, at, 1)
            done += 1
        begin = end
