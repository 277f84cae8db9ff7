"""A dataset of batches, and where a program is in it."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.data.reading.batches import Batches


class Source:
    """Makes a dataset of batches, and knows the position after each of them.

    Each iteration of the dataset is an epoch, or what is left of it after `seek`. Once
    its last batch was handed out, the next iteration begins the next epoch. An
    iteration that was left early is begun again, so a look at the first element changes
    nothing.

    Its methods are not thread-safe, but another thread may read the dataset.

    Args:
        batches: The batches.
    """

    def __init__(self, batches: Batches) -> None:
        self.batches = batches
        self._next = self._last = batches.begin(0)
        # After each batch that was handed out, until `position_after` tells it.
        self._positions: collections.deque[Any] = collections.deque()
        self._is_whole = True
        self._has_run_out = False

    @property
    def length(self) -> int | None:
        """How many batches an epoch has; None if only reading all of it tells."""
        return self.batches.length

    def seek(self, values: Sequence[int]) -> None:
        """Makes the next iteration begin at a position, after which a batch is left.

        Args:
            values: The position's values: see `Samples.position`.
        """
        self._next = self._last = self.batches.position(values)
        self.begin()

    def begin(self) -> None:
        """Begins to count batches, before the first one is trained."""
        self._positions = collections.deque()
        self._is_whole = True
        self._has_run_out = False

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
        is_end = self.ends_after(batches)
        for _ in range(batches):
            self._last = self._positions.popleft()
        if is_end:
            self._last = self._next
        return self._last

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete."""
        self.batches.saved(position)

    def ends_after(self, batches: int) -> bool:
        """Returns whether an epoch ends with the last of some batches.

        Args:
            batches: As for `position_after`.
        """
        return self._is_whole and batches == len(self._positions)

    def dataset(self) -> tf.data.Dataset:
        """Returns the dataset.

        Its cardinality is that of whole epochs, if it is known, even for an iteration
        that begins within an epoch: Keras takes the first epoch's length for that of
        all epochs otherwise.
        """
        arrays = tf.data.Dataset.from_generator(
            self._arrays, output_signature=self.batches.specs
        )
        if self.length is not None:
            # TensorFlow takes what repeats for endless. A generator that has run out is
            # empty when it is repeated, which ends the iteration.
            arrays = arrays.repeat().take(self.length)
        if self.batches.is_stream:
            arrays = arrays.filter(_has_rows)
        dataset = arrays.map(lambda *arrays: self.batches.element(arrays))
        # `JobCheckpoint` and `ptf.data.service` find it there.
        dataset.persia_source = self
        return dataset

    def _arrays(self) -> Iterator[tuple[Any, ...]]:
        if self._has_run_out and self.length is not None:
            self._has_run_out = False
            return
        # An iteration that was left early may still hand out batches to a thread that
        # no one waits for: they count for themselves.
        positions = self._positions if self._is_whole else collections.deque()
        self._positions = positions
        self._is_whole = False
        start = self._next
        waiting: Any = None
        for arrays, position in self.batches.read(start):
            if position is None:
                # An iteration can end only between two elements.
                yield self._nothing()
                continue
            if waiting is not None:
                yield waiting
            positions.append(position)
            if self.batches.is_endless:
                yield arrays
            else:
                waiting = arrays
        # Before the last batch: `ends_after` asks once it was trained, and no one asks
        # for more of a dataset of known cardinality.
        if self._positions is positions:
            self._is_whole = True
            self._next = self.batches.begin(start.epoch + 1)
        if waiting is not None:
            yield waiting
        self._has_run_out = True

    def _nothing(self) -> tuple[np.ndarray, ...]:
        specs = self.batches.specs
        return tuple(np.zeros(0, spec.dtype.as_numpy_dtype) for spec in specs)


def _has_rows(*arrays: tf.Tensor) -> tf.Tensor:
    return tf.add_n([tf.size(array) for array in arrays]) > 0
