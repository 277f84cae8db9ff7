"""A dataset of batches, and where a program is in it."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from persia_tf.data.reading.batches import Batches, Handed


class _After(NamedTuple):
    """The position after a batch, and whether the batch was the last of its epoch."""

    position: Any
    is_end: bool = False


class Source:
    """Makes a dataset of batches, and knows the position after each of them.

    Each iteration of the dataset is an epoch, or what is left of it after `seek`. Once
    its last batch was handed out, the next iteration begins the next epoch, maybe while
    batches of the last one are still to be trained. An iteration that was left early is
    begun again, so a look at the first element changes nothing.

    Its methods are not thread-safe, but another thread may read the dataset.

    Args:
        batches: The batches.
    """

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self._next = self._last = self._trained = batches.begin(0)
        # After each batch that was handed out, until `position_after` tells it.
        self._positions: collections.deque[_After] = collections.deque()
        self._lock = threading.Lock()  # Guards `_positions`.

    @property
    def length(self) -> int | None:
        """How many batches an epoch has; None if only reading all of it tells."""
        return self.batches.length

    def seek(self, values: Sequence[int]) -> None:
        """Makes the next iteration begin at a position, after which a batch is left.

        Args:
            values: The position's values: see `Positions.position`.
        """
        self._begin_at(self.batches.position(values))

    def begin_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, from its beginning."""
        self._begin_at(self.batches.begin(epoch))

    @property
    def is_at_beginning(self) -> bool:
        """Whether the position that was told last is the beginning of an epoch."""
        return self._last == self.batches.begin(self._last.epoch)

    def begin(self) -> None:
        """Begins to count batches, before the first one is trained.

        What was handed out since the last trained epoch was looked at only, and maybe
        read ahead to its end: it is handed out again.
        """
        with self._lock:
            self._next = self._trained
            self._positions = collections.deque()

    def end_epoch(self, batches: int) -> None:
        """Notes that an epoch was trained, if it was.

        Args:
            batches: As for `position_after`.
        """
        if self.ends_after(batches):
            self._trained = self._positions[batches - 1].position

    def position_after(self, batches: int) -> Any:
        """Returns the position after some batches; after the last, the next epoch's.

        Args:
            batches: How many batches were trained since the last call, or since
                `begin`.

        Raises:
            ValueError: if fewer batches were handed out.
        """
        if batches > len(self._positions):
            raise ValueError(
                f"{batches} batches were trained, but the dataset has handed out only "
                f"{len(self._positions)}: a `JobCheckpoint` needs the dataset that "
                "`fit` trains on, each batch of which is one step"
            )
        with self._lock:
            for _ in range(batches):
                self._last = self._positions.popleft().position
        return self._last

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete."""
        self.batches.saved(position)

    def ends_after(self, batches: int) -> bool:
        """Returns whether an epoch ends with the last of some batches.

        Args:
            batches: As for `position_after`.
        """
        with self._lock:
            handed_out = self._positions
            return 0 < batches <= len(handed_out) and handed_out[batches - 1].is_end

    def dataset(self) -> tf.data.Dataset:
        """Returns the dataset.

        Its cardinality is that of whole epochs, if it is known, even for an iteration
        that begins within an epoch: Keras takes the first epoch's length for that of
        all epochs otherwise.
        """
        dataset = self._elements(self._arrays)
        if self.length is not None:
            # TensorFlow takes a dataset that repeats for endless, even if it is empty.
            endless = self._elements(lambda: iter(())).repeat()
            dataset = dataset.concatenate(endless).take(self.length)
        if self.batches.is_shard:
            # Otherwise `fit` of several workers would divide the batches once more, and
            # leave most of them out.
            options = tf.data.Options()
            options.experimental_distribute.auto_shard_policy = (
                tf.data.experimental.AutoShardPolicy.OFF
            )
            dataset = dataset.with_options(options)
        # `JobCheckpoint` and `ptf.data.service` find it there.
        dataset.persia_source = self
        return dataset

    def _elements(self, arrays: Callable[[], Iterator[Any]]) -> tf.data.Dataset:
        """Returns the batches that some arrays stand for."""
        return self.batches.elements(
            tf.data.Dataset.from_generator(arrays, output_signature=self.batches.specs)
        )

    def _begin_at(self, position: Any) -> None:
        self._last = self._trained = position
        self.begin()

    def _arrays(self) -> Iterator[tuple[Any, ...]]:
        # An iteration that was left early may still hand out batches to a thread that
        # no one waits for: they count for themselves.
        with self._lock:
            start = self._next
            positions = self._positions = _whole_epochs(self._positions)
        waiting: Handed | None = None
        for handed in self.batches.read(start):
            if handed is None:
                # An iteration can end only between two elements.
                yield self.batches.pause()
                continue
            if waiting is not None:
                yield waiting.arrays
                waiting = None
            with self._lock:
                positions.extend(map(_After, handed.positions))
            if handed.is_end is None:
                waiting = handed
                continue
            if handed.is_end:
                self._end(start.epoch, positions)
            yield handed.arrays
        if waiting is not None:
            self._end(start.epoch, positions)
            yield waiting.arrays

    def _end(self, epoch: int, positions: collections.deque[_After]) -> None:
        """Notes the end of an epoch, before its last batch is handed out.

        `ends_after` asks once that was trained, and no one asks for more of a dataset
        of known cardinality.
        """
        with self._lock:
            if self._positions is positions:
                self._next = self.batches.begin(epoch + 1)
                positions[-1] = _After(self._next, is_end=True)


def _whole_epochs(positions: collections.deque[_After]) -> collections.deque[_After]:
    """Returns the positions up to the last end of an epoch."""
    whole = collections.deque(positions)
    while whole and not whole[-1].is_end:
        whole.pop()
    return whole
