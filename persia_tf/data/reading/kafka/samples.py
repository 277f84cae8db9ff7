"""The samples of a stream of events, in batches, from any position on."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from absl import logging

from persia_tf import errors
from persia_tf.data.reading.kafka.bad_events import BadEvents
from persia_tf.data.reading.kafka.client import KafkaClient
from persia_tf.data.reading.kafka.json_events import JsonEvents
from persia_tf.data.reading.kafka.position import ENDLESS, KafkaPosition, Place
from persia_tf.data.reading.kafka.reader import KafkaReader
from persia_tf.data.reading.kafka.sorting import KafkaStatistics, Sorting
from persia_tf.data.reading.opening import pyarrow
from persia_tf.data.reading.runs import Run
from persia_tf.data.reading.samples import Samples

# An iteration can end, and a partial batch be handed out, this often.
_POLL_SECONDS = 0.1


class Stream(NamedTuple):
    """What is read of Kafka, and how.

    Attributes:
        topics: The topics.
        batch_size: The rows of a batch.
        start: `"beginning"` or `"end"`.
        until_end: Whether reading ends where partitions ended when it began.
        max_wait: After how many seconds a smaller batch is handed out, or None.
        late_after: The greatest age in seconds of an event that is trained, or None.
        skips_removed: Whether to go on if events were removed before they were read.
        shard: The number of this program among several, which read other partitions.
        shards: How many programs there are.
    """

    topics: tuple[str, ...]
    batch_size: int
    start: str
    until_end: bool
    max_wait: float | None
    late_after: float | None
    skips_removed: bool
    shard: int
    shards: int


class KafkaSamples(Samples):
    """The samples of partitions of topics.

    Where the partitions begin and end is found out at once, so that the position of a
    job that has trained nothing yet stays the same.

    Args:
        client: Asks the brokers.
        stream: What is read.
        events: Parses it.
        bad: Where events go that are not trained.

    Raises:
        NotFoundError: if there is no such topic.
        UnavailableError: if no broker answers.
        InvalidArgumentError: if there are fewer partitions than programs.
    """

    def __init__(
        self, client: KafkaClient, stream: Stream, events: JsonEvents, bad: BadEvents
    ) -> None:
        self._client = client
        self._stream = stream
        self._events = events
        self._bad = bad
        self._sorting: Sorting | None = None
        with contextlib.closing(client.consumer()) as consumer:
            self._ranges = self._own_ranges(consumer)

    @property
    def length(self) -> None:
        """None: only reading tells how many batches there are."""
        return None

    @property
    def is_shard(self) -> bool:
        """Whether other programs read other partitions."""
        return self._stream.shards > 1

    @property
    def statistics(self) -> KafkaStatistics:
        """What the iteration that began last has counted."""
        return KafkaStatistics() if self._sorting is None else self._sorting.statistics

    def begin(self, epoch: int) -> KafkaPosition:
        """Returns the position at which reading begins."""
        is_end = self._stream.start == "end"
        return KafkaPosition(
            epoch,
            tuple(
                self._place(key, ends if is_end else first)
                for key, (first, ends) in self._ranges.items()
            ),
        )

    def position(self, values: Sequence[Any]) -> KafkaPosition:
        """Returns the position that has some values.

        Partitions that were added since are read from their first event on.
        """
        if len(values) != len(KafkaPosition._fields) or isinstance(values[1], int):
            raise errors.InvalidArgumentError(
                "a stream can be read from a position only that it has told. "
                f"Received: {list(values)}"
            )
        epoch, saved = values
        told = {place.key: place for place in (Place(*each) for each in saved)}
        others = [place for key, place in told.items() if key not in self._ranges]
        if others:
            raise errors.InvalidArgumentError(
                f"the checkpoint was at offset {others[0].offset} of {others[0]}, "
                "which this program does not read: start it with the same `topics` "
                f"and `shard`. It reads: {list(self._ranges)}"
            )
        places = []
        for key, (first, _) in self._ranges.items():
            place = told.get(key)
            if place is None:
                place = self._place(key, first)
                logging.info("%s is new: it is read from offset %d on", place, first)
            end = place.end if place.end != ENDLESS else self._end(key)
            places.append(
                place._replace(end=end if self._stream.until_end else ENDLESS)
            )
        return KafkaPosition(int(epoch), tuple(places))

    def runs(self, start: KafkaPosition) -> Iterator[Run | None]:
        """Yields batches of events, and None when no event came for a while."""
        self._sorting = sorting = Sorting(
            self._events,
            start.places,
            self._stream.late_after,
            self._bad.begin(start.places),
        )
        reader = KafkaReader(
            self._client,
            start.places,
            self._stream.skips_removed,
            sorting.count_removed,
        )
        with contextlib.closing(reader):
            for table in self._batches(reader, sorting):
                if table is None:
                    yield None
                    continue
                position = KafkaPosition(start.epoch, sorting.places)
                is_end = None if self._stream.until_end else False
                yield Run(table, 0, len(table), [position], is_end)

    def saved(self, position: KafkaPosition) -> None:
        """Commits the offsets that a checkpoint has."""
        self._client.commit(position.places)

    def _batches(self, reader: KafkaReader, sorting: Sorting) -> Iterator[Any]:
        """Yields a table for each batch, and None between them when it has to wait."""
        size = self._stream.batch_size
        messages: list[Any] = []
        tables: list[Any] = []
        due: float | None = None  # When the batch has waited for long enough.
        while messages or not reader.is_done:
            need = size - sum(map(len, tables)) - len(messages)
            if due is None and self._stream.max_wait is not None:
                messages += reader.take(1, _POLL_SECONDS)
                due = time.monotonic() + self._stream.max_wait if messages else None
                need = need - 1 if messages else 0
            if need:
                messages += reader.take(need, _seconds_until(due))
            is_due = reader.is_done or (due is not None and time.monotonic() >= due)
            if is_due or len(messages) >= size - sum(map(len, tables)):
                tables.append(sorting.sorted_out(messages))
                messages = []
            rows = sum(map(len, tables))
            if rows == size or (is_due and rows):
                yield pyarrow().concat_tables(tables)
                tables = []
            else:
                yield None
            if is_due or not (messages or tables):
                due = None

    def _own_ranges(self, consumer: Any) -> dict[tuple[str, int], tuple[int, int]]:
        stream = self._stream
        keys = self._client.partitions(consumer, stream.topics)
        own = keys[stream.shard :: stream.shards]
        if len(keys) < stream.shards:
            raise errors.InvalidArgumentError(
                f"the topics {list(stream.topics)} have {len(keys)} partitions, which "
                f"are too few for {stream.shards} programs: `shard` must be smaller"
            )
        return {key: self._client.range(consumer, key) for key in own}

    def _place(self, key: tuple[str, int], offset: int) -> Place:
        return Place(*key, offset, self._end(key))

    def _end(self, key: tuple[str, int]) -> int:
        return self._ranges[key][1] if self._stream.until_end else ENDLESS


def _seconds_until(due: float | None) -> float:
    """Returns how long to wait for the events that a batch lacks."""
    if due is None:
        return _POLL_SECONDS
    return max(0.0, min(_POLL_SECONDS, due - time.monotonic()))
