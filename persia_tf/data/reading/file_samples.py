"""The samples of files, in an order that is known from any position on."""

from __future__ import annotations

import bisect
import collections
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from persia_tf import errors
from persia_tf.data.reading.ahead import one_ahead
from persia_tf.data.reading.groups import Group, Grouping, groups
from persia_tf.data.reading.mixing import mixed
from persia_tf.data.reading.opening import pyarrow
from persia_tf.data.reading.parts import Format, Part
from persia_tf.data.reading.position import Position
from persia_tf.data.reading.runs import Run
from persia_tf.data.reading.samples import Samples

# How many parts are read ahead of the one that is used, each by a thread. The other
# cores train.
_AHEAD = min(max((os.cpu_count() or 1) // 2, 2), 8)


class Order(NamedTuple):
    """How the samples of files are ordered.

    Attributes:
        batch_size: The rows of a batch.
        drop_remainder: Whether the last batch is left out if it is smaller.
        shuffle_buffer: The least number of rows that are mixed; 0 for files in their
            order.
        seed: The seed of the order.
        shard: The number of this program among several, which read different batches.
        shards: How many programs there are.
    """

    batch_size: int
    drop_remainder: bool = False
    shuffle_buffer: int = 0
    seed: int = 0
    shard: int = 0
    shards: int = 1


class FileSamples(Samples):
    """The samples of the epochs of a data set.

    An epoch has all parts in an order of its own. As many parts as hold
    `shuffle_buffer` rows are read, their rows are mixed, and then the next ones. The
    order depends on the seed, the number of the epoch and the parts only, so reading
    can begin anywhere without what comes before it.

    Of several programs, each reads the same number of batches, which follow each other
    in the order of the epoch. The last batches, fewer than there are programs, are left
    out, and so is a batch that is smaller.

    Args:
        source: Reads the parts.
        parts: The parts.
        order: Their order.

    Raises:
        InvalidArgumentError: if there are fewer batches than programs.
    """

    def __init__(self, source: Format, parts: Sequence[Part], order: Order) -> None:
        self.source = source
        self._parts = parts
        self._rows = _rows_of(parts)
        self._order = order
        # The groups of the epoch that was asked for last.
        self._known: tuple[int, Any] = (-1, None)
        if not self.is_shard:
            return
        self.count()
        if not self.length:
            raise errors.InvalidArgumentError(
                f"the files have {self._rows} rows, which are too few for "
                f"{order.shards} programs with a batch of {order.batch_size} each"
            )

    @property
    def parts(self) -> Sequence[Part]:
        """The parts of the files."""
        return self._parts

    @property
    def order(self) -> Order:
        """How the samples are ordered."""
        return self._order

    @property
    def length(self) -> int | None:
        """How many batches this program reads in an epoch; None if it is not known."""
        if self._rows is None:
            return None
        full, rest = divmod(self._rows, self._order.batch_size)
        if self.is_shard:
            return full // self._order.shards
        return full + (rest > 0 and not self._order.drop_remainder)

    @property
    def is_shard(self) -> bool:
        """Whether other programs read the rest of the data."""
        return self._order.shards > 1

    def count(self) -> None:
        """Counts the rows of all parts, which takes reading them for some formats."""
        unknown = [part for part in self._parts if part.rows is None]
        if unknown:
            with ThreadPoolExecutor(_AHEAD, "persia_counter") as pool:
                counts = iter(list(pool.map(self.source.count, unknown)))
            self._parts = [
                part if part.rows is not None else part._replace(rows=next(counts))
                for part in self._parts
            ]
            self._rows = _rows_of(self._parts)

    def begin(self, epoch: int) -> Position:
        """Returns the position before this program's first batch of an epoch."""
        first = self._first
        return self.position([epoch, first]) if first else Position(epoch)

    def position(self, values: Sequence[int]) -> Position:
        """Returns the position that has some values, or an epoch and a batch."""
        if len(values) == len(Position._fields):
            return Position(*map(int, values))
        epoch, batch = map(int, values)
        if not batch:
            return Position(epoch)
        first, group = self._group_of(epoch, batch)
        rows = (batch - first) * self._order.batch_size
        if rows < group.rows:
            return Position(epoch, batch, group.part, group.skipped, rows)
        return Position(epoch, batch, len(self._parts))

    def groups(self, epoch: int) -> tuple[list[int], list[Group]]:
        """Returns the groups of an epoch, after the number of each one's first batch.

        Raises:
            InvalidArgumentError: if the rows of the parts are not known.
        """
        if self.length is None:
            raise errors.InvalidArgumentError(
                "how many rows the files have is not known before they are read"
            )
        known, found = self._known
        if known != epoch:
            found = self._found(epoch)
            self._known = (epoch, found)
        return found

    def _group_of(self, epoch: int, batch: int) -> tuple[int, Group]:
        """Returns the group that has a batch, after the number of its first batch."""
        firsts, found = self.groups(epoch)
        if not found or batch < 0:
            raise errors.InvalidArgumentError(f"the files have no batch {batch}")
        number = max(bisect.bisect_right(firsts, batch) - 1, 0)
        return firsts[number], found[number]

    def _found(self, epoch: int) -> tuple[list[int], list[Group]]:
        order = self._order
        found = list(
            groups(
                (self._parts[part].rows or 0 for part in self._permutation(epoch)),
                *(len(self._parts), order.batch_size, order.shuffle_buffer),
            )
        )
        sizes = [-(-group.rows // order.batch_size) for group in found]
        return [0, *np.cumsum(sizes[:-1]).tolist()], found

    def runs(self, start: Position, end: int | None = None) -> Iterator[Run]:
        """Yields this program's batches of an epoch, from a position on.

        Args:
            start: The position.
            end: The number in the epoch of the batch before which to stop. Defaults to
                None: after this program's last batch.
        """
        last = end
        if last is None and self.length is not None:
            last = self._first + self.length
        batch = start.batch
        if last is None:
            parts = len(self._parts)
        elif batch < last:
            parts = self._group_of(start.epoch, last - 1)[1].until
        else:
            return
        for group, following, rows in self._groups(start, parts):
            offset = start.rows if group == (start.part, start.skipped) else 0
            most = None if last is None else last - batch
            ends = self._ends(offset, len(rows), most)
            positions = []
            for offset_after in ends:
                batch += 1
                is_within = offset_after < len(rows)
                at = (*group, offset_after) if is_within else (*following, 0)
                positions.append(Position(start.epoch, batch, *at))
            is_end = None if last is None else batch == last
            if positions:
                yield Run(rows, offset, self._order.batch_size, positions, is_end)
            if is_end:
                return
            del rows  # The next ones are read first.

    def _ends(self, offset: int, rows: int, most: int | None) -> list[int]:
        """Returns where batches end that begin at a row, `most` of them at the most."""
        size = self._order.batch_size
        ends = [*range(offset + size, rows + 1, size)]
        is_rest_left = (rows - offset) % size > 0
        if is_rest_left and not self._order.drop_remainder:
            ends.append(rows)
        return ends[:most]

    @property
    def _first(self) -> int:
        return (self.length or 0) * self._order.shard

    def _groups(
        self, start: Position, parts: int
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int], Any]]:
        if self._order.shuffle_buffer:
            return one_ahead(lambda is_over: self._mixed(start, parts, is_over))
        return self._mixed(start, parts, threading.Event())

    def _mixed(
        self, start: Position, parts: int, is_over: threading.Event
    ) -> Iterator[tuple[tuple[int, int], tuple[int, int], Any]]:
        """Yields of each group where it begins, where the next one does, its rows."""
        pa = pyarrow()
        order = self._order
        grouping = Grouping(
            *(len(self._parts), order.batch_size, order.shuffle_buffer),
            *(start.part, start.skipped),
        )
        permutation = self._permutation(start.epoch)
        waiting: list[Any] = []
        for number, table in self._read(permutation[:parts], start.part):
            if is_over.is_set():
                return
            is_first = number == start.part
            waiting.append(table.slice(start.skipped) if is_first else table)
            first = grouping.first
            group = grouping.add(number, len(table))
            if group is None:
                continue
            rows, rest = _divided(_joined(pa, waiting), group.rows)
            waiting = [rest] if len(rest) else []
            del rest, table
            if order.shuffle_buffer:
                mixing = self._mixing(start.epoch, first, len(rows))
                unmixed = [rows]
                del rows  # So that `mixed` can free them.
                rows = mixed(unmixed, mixing)
            yield first, grouping.first, rows
            del rows

    def _read(self, order: Sequence[int], first: int) -> Iterator[tuple[int, Any]]:
        """Yields the parts' numbers and rows, and reads the next ones meanwhile."""
        with ThreadPoolExecutor(_AHEAD, "persia_reader") as pool:
            ahead: collections.deque[Future[Any]] = collections.deque()
            try:
                for number in range(first, len(order) + _AHEAD):
                    if number < len(order):
                        part = self._parts[order[number]]
                        ahead.append(pool.submit(self.source.read, part))
                    if number >= first + _AHEAD and ahead:
                        yield number - _AHEAD, ahead.popleft().result()
            finally:
                for each in ahead:
                    each.cancel()

    def _permutation(self, epoch: int) -> list[int]:
        if not self._order.shuffle_buffer:
            return list(range(len(self._parts)))
        generator = np.random.default_rng([self._order.seed, epoch])
        return generator.permutation(len(self._parts)).tolist()

    def _mixing(self, epoch: int, first: tuple[int, int], count: int) -> np.ndarray:
        part, skipped = first
        generator = np.random.default_rng([self._order.seed, epoch, part + 1, skipped])
        return generator.permutation(count)


def _rows_of(parts: Sequence[Part]) -> int | None:
    """Returns how many rows parts have; None if that of a part is not known."""
    counts = [part.rows for part in parts]
    return None if None in counts else sum(counts)


def _joined(pa: Any, pieces: Sequence[Any]) -> Any:
    return pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)


def _divided(rows: Any, count: int) -> tuple[Any, Any]:
    """Returns the first rows, and a copy of the others, so that it keeps no more."""
    rest = rows.slice(count)  # To take from all rows would join their chunks first.
    return rows.slice(0, count), rest.take(np.arange(len(rest)))
