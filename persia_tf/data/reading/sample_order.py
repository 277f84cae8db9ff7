"""The order of the samples of an epoch, from any position on."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from persia_tf.data.reading.opening import pyarrow
from persia_tf.data.reading.parts import Format, Part
from persia_tf.data.reading.position import Position

# How many parts are read ahead of the one that is used.
_AHEAD = 2


class SampleOrder:
    """The samples of the epochs of a data set.

    An epoch has all parts in an order of its own. As many parts as hold
    `shuffle_buffer` rows are read, their rows are mixed, and then the next ones. The
    order depends on the seed, the number of the epoch and the parts only, so reading
    can begin anywhere without what comes before it.

    Args:
        source: Reads the parts.
        parts: The parts.
        shuffle_buffer: The least number of rows that are mixed; 0 for files in their
            order.
        seed: The seed of the order.
    """

    def __init__(
        self, source: Format, parts: Sequence[Part], shuffle_buffer: int, seed: int
    ) -> None:
        self._source = source
        self._parts = parts
        self._shuffle_buffer = shuffle_buffer
        self._seed = seed

    @property
    def rows(self) -> int | None:
        """How many rows an epoch has; None if only reading all parts tells."""
        counts = [part.rows for part in self._parts]
        return None if None in counts else sum(counts)

    def batches(
        self, start: Position, batch_size: int, drop_remainder: bool
    ) -> Iterator[tuple[Any, Position]]:
        """Yields the batches of an epoch, from a position on.

        Args:
            start: The first row.
            batch_size: The rows of a batch.
            drop_remainder: Whether the last batch is left out if it is smaller.

        Yields:
            A `pyarrow.Table`, and the position of the row after it.
        """
        pa = pyarrow()
        pieces: list[Any] = []
        missing = batch_size
        at = start
        for part, rows in self._mixed(start):
            offset = start.rows if part == start.part else 0
            while offset < len(rows):
                piece = rows.slice(offset, missing)
                pieces.append(piece)
                offset += len(piece)
                missing -= len(piece)
                at = Position(start.epoch, part, offset)
                if not missing:
                    yield _joined(pa, pieces), at
                    pieces, missing = [], batch_size
            del rows  # The next ones are read first.
        if pieces and not drop_remainder:
            yield _joined(pa, pieces), at

    def _mixed(self, start: Position) -> Iterator[tuple[int, Any]]:
        """Yields the number of the first part whose rows are mixed, and these rows."""
        pa = pyarrow()
        order = self._order(start.epoch)
        first, tables, count = start.part, [], 0
        for number, table in self._read(order, start.part):
            tables.append(table)
            count += len(table)
            if count < self._shuffle_buffer and number < len(order) - 1:
                continue
            rows = _joined(pa, tables)
            if self._shuffle_buffer:
                rows = rows.combine_chunks()
                tables.clear()
                rows = rows.take(self._mixing(start.epoch, first, count))
            tables, count = [], 0
            yield first, rows
            first = number + 1

    def _read(self, order: Sequence[int], first: int) -> Iterator[tuple[int, Any]]:
        """Yields the parts' numbers and rows, and reads the next ones meanwhile."""
        with ThreadPoolExecutor(_AHEAD, "persia_reader") as pool:
            ahead: collections.deque[Future[Any]] = collections.deque()
            try:
                for number in range(first, len(order) + _AHEAD):
                    if number < len(order):
                        part = self._parts[order[number]]
                        ahead.append(pool.submit(self._source.read, part))
                    if number >= first + _AHEAD and ahead:
                        yield number - _AHEAD, ahead.popleft().result()
            finally:
                for each in ahead:
                    each.cancel()

    def _order(self, epoch: int) -> list[int]:
        if not self._shuffle_buffer:
            return list(range(len(self._parts)))
        generator = np.random.default_rng([self._seed, epoch])
        return generator.permutation(len(self._parts)).tolist()

    def _mixing(self, epoch: int, part: int, count: int) -> np.ndarray:
        generator = np.random.default_rng([self._seed, epoch, part + 1])
        return generator.permutation(count)


def _joined(pa: Any, pieces: Sequence[Any]) -> Any:
    return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)
