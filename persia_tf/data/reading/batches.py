"""The batches that a dataset hands out, from any position on."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from persia_tf.data.reading.handing import BatchBox
from persia_tf.data.reading.positions import Positions
from persia_tf.data.reading.runs import Run, pieces
from persia_tf.data.reading.samples import Samples
from persia_tf.data.reading.tensors import Columns

# The numbers of a box and of a table in it, the first row, the row after the last one,
# and the rows of a batch.
_RANGE_SPEC = tf.TensorSpec([5], tf.int64)


class Handed(NamedTuple):
    """Batches that are handed to TensorFlow at once.

    Attributes:
        arrays: What stands for them.
        positions: The position after each of them.
        is_end: Whether the epoch ends with the last one; then there is no other. None
            if that is not known.
    """

    arrays: tuple[Any, ...]
    positions: Sequence[Any]
    is_end: bool | None


class Batches(Positions):
    """Yields the batches of a data set, as flat tuples of arrays."""

    @property
    @abc.abstractmethod
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """The specs of the arrays that stand for batches."""

    @abc.abstractmethod
    def read(self, start: Any) -> Iterator[Handed | None]:
        """Yields the batches of an epoch from a position on; None for a pause."""

    @abc.abstractmethod
    def elements(self, handed: tf.data.Dataset) -> tf.data.Dataset:
        """Returns the dataset of batches, given that of the arrays."""

    def pause(self) -> tuple[Any, ...]:
        """Returns the arrays that stand for no batch."""
        raise NotImplementedError


class SampleBatches(Batches):
    """The batches of samples that this program reads.

    Args:
        samples: The samples.
        columns: Their tensors.
        finished: Returns the dataset's element, given the tensors by column.
    """

    def __init__(
        self,
        samples: Samples,
        columns: Columns,
        finished: Callable[[Mapping[str, Any]], Any],
    ) -> None:
        self.samples = samples
        self.columns = columns
        self.finished = finished

    @property
    def length(self) -> int | None:
        """How many batches an epoch has; None if only reading all of it tells."""
        return self.samples.length

    @property
    def is_shard(self) -> bool:
        """Whether other programs read the rest of the data."""
        return self.samples.is_shard

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete."""
        self.samples.saved(position)

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """The spec of a range."""
        return (_RANGE_SPEC,)

    def begin(self, epoch: int) -> Any:
        """Returns the position before the first batch of an epoch."""
        return self.samples.begin(epoch)

    def position(self, values: Sequence[int]) -> Any:
        """Returns the position that has some values."""
        return self.samples.position(values)

    def read(self, start: Any) -> Iterator[Handed | None]:
        """Yields the batches of an epoch from a position on."""
        box = BatchBox()
        try:
            for run in self.samples.runs(start):
                if run is None:
                    yield None
                else:
                    yield from self._handed(run, box)
                del run  # The next rows are read first.
        except BaseException:
            box.close()
            raise
        box.finish()

    def elements(self, handed: tf.data.Dataset) -> tf.data.Dataset:
        """Returns the dataset of batches, given that of their ranges."""

        def batches(of: tf.Tensor) -> tf.data.Dataset:
            box, number, begin, end, size = tf.unstack(of)

            def element(at: tf.Tensor) -> Any:
                place = tf.stack([box, number, at, tf.minimum(size, end - at)])
                return self.finished(self.columns.taken(place))

            return tf.data.Dataset.range(begin, end, size).map(element)

        return handed.flat_map(batches)

    def pause(self) -> tuple[Any, ...]:
        """Returns the range that has no rows."""
        return (np.array([0, 0, 0, 0, 1]),)

    def _handed(self, run: Run, box: BatchBox) -> Iterator[Handed]:
        """Yields the batches of a run, of which only what it must is copied.

        The last one is alone if the epoch may end with it: so it may wait while the
        next ones are read, without the memory of the others.
        """
        if run.is_end is False:
            yield from self._undivided(run, box)
            return
        yield from self._undivided(run._replace(positions=run.positions[:-1]), box)
        last = run.batch(len(run.positions) - 1)
        if run.is_end is None:
            last = last.take(np.arange(len(last)))
        yield self._alone(last, run.positions[-1:], run.is_end, box)

    def _undivided(self, run: Run, box: BatchBox) -> Iterator[Handed]:
        """Yields batches that lie in one chunk at once, and others each alone."""
        size = run.batch_size
        chunks = self.columns.batches(run.rows)
        done = 0
        for piece in pieces(run, [len(chunk) for chunk in chunks]):
            positions = run.positions[done : done + piece.count]
            done += piece.count
            if piece.chunk is None:
                table = run.rows.slice(piece.first, size)
                yield self._alone(table, positions, False, box)
                continue
            chunk = chunks[piece.chunk]
            place = box.put(chunk, piece.count)
            end = min(piece.first + piece.count * size, len(chunk))
            range_of = np.array([*place, piece.first, end, size])
            yield Handed((range_of,), positions, False)

    def _alone(
        self, table: Any, positions: Sequence[Any], is_end: bool | None, box: BatchBox
    ) -> Handed:
        """Returns the one batch of a table."""
        place = box.put(self.columns.batch(table))
        range_of = np.array([*place, 0, len(table), len(table)])
        return Handed((range_of,), positions, is_end)
