"""The batches that a dataset hands out, from any position on."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from persia_tf.data.reading.handing import NO_PLACE, PLACE_SPEC, MessageBox, take
from persia_tf.data.reading.positions import Positions
from persia_tf.data.reading.samples import Samples
from persia_tf.data.reading.tensors import Columns


class Batches(Positions):
    """Yields the batches of a data set, as flat tuples of arrays."""

    @property
    @abc.abstractmethod
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """The specs of a batch's arrays."""

    @abc.abstractmethod
    def read(self, start: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yields the batches of an epoch from a position on, and the one after each."""

    @abc.abstractmethod
    def element(self, tensors: Sequence[tf.Tensor]) -> Any:
        """Returns the dataset's element of a batch, given tensors of its arrays."""

    def pause(self) -> tuple[Any, ...]:
        """Returns the arrays that stand for a pause of a stream."""
        raise NotImplementedError

    def is_batch(self, *tensors: tf.Tensor) -> tf.Tensor:
        """Returns whether tensors are those of a batch, and not of a pause."""
        del tensors
        return tf.constant(True)


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
    def is_stream(self) -> bool:
        """Whether there are pauses, in which `read` yields a pair of Nones."""
        return self.samples.is_stream

    @property
    def is_endless(self) -> bool:
        """Whether an epoch has no last batch."""
        return self.samples.is_endless

    @property
    def is_shard(self) -> bool:
        """Whether other programs read the rest of the data."""
        return self.samples.is_shard

    def pause(self) -> tuple[Any, ...]:
        """Returns the place that stands for a pause."""
        return (NO_PLACE,)

    def is_batch(self, *tensors: tf.Tensor) -> tf.Tensor:
        """Returns whether a place is that of a batch."""
        return tf.reduce_all(tensors[0] != NO_PLACE)

    def saved(self, position: Any) -> None:
        """Says that a checkpoint of a position is complete."""
        self.samples.saved(position)

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """The specs of a batch's arrays."""
        return (PLACE_SPEC,)

    def begin(self, epoch: int) -> Any:
        """Returns the position before the first batch of an epoch."""
        return self.samples.begin(epoch)

    def position(self, values: Sequence[int]) -> Any:
        """Returns the position that has some values."""
        return self.samples.position(values)

    def read(self, start: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yields the batches of an epoch from a position on."""
        box = MessageBox()
        is_left = True
        try:
            for table, position in self.samples.tables(start):
                if table is None:
                    yield None, None
                    continue
                yield (box.put(self.columns.message(table)),), position
            is_left = False
        finally:
            # After the end, an op may still have to take the last message.
            if is_left:
                box.close()

    def element(self, tensors: Sequence[tf.Tensor]) -> Any:
        """Returns the dataset's element of a batch."""
        [place] = tensors
        return self.finished(self.columns.named([take(place)]))
