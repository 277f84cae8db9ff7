"""Divides events into those that are trained and those that are not."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from absl import logging

from persia_tf.data.reading.kafka.bad_events import LATE, MALFORMED, BadEvent
from persia_tf.data.reading.kafka.json_events import JsonEvents
from persia_tf.data.reading.kafka.position import NO_TIME, Place

_LOG_SECONDS = 10


class KafkaStatistics(NamedTuple):
    """What an iteration over events has counted.

    Attributes:
        good: Events that became rows of batches.
        malformed: Events that are not of the columns.
        late: Events that were older than `late_after` allows.
        removed: Events that Kafka had removed before they were read.
    """

    good: int = 0
    malformed: int = 0
    late: int = 0
    removed: int = 0


class Sorting:
    """Sorts the events of one reading, and knows the places up to which it did.

    Args:
        events: Parses events.
        places: Where the reading begins.
        late_after: How many seconds an event may be older than the newest one of its
            partition; None for any age.
        put_aside: Keeps events that are not trained.
    """

    def __init__(
        self,
        events: JsonEvents,
        places: Sequence[Place],
        late_after: float | None,
        put_aside: Callable[[Sequence[BadEvent]], None],
    ) -> None:
        self._events = events
        self._places = {place.key: place for place in places}
        self._late_ms = None if late_after is None else int(late_after * 1000)
        self._put_aside = put_aside
        self.statistics = KafkaStatistics()

    @property
    def places(self) -> tuple[Place, ...]:
        """The places after the events that were sorted."""
        return tuple(self._places.values())

    def count_removed(self, count: int) -> None:
        """Counts events that were removed before they were read."""
        self._count(removed=count)

    def sorted_out(self, messages: Sequence[Any]) -> Any:
        """Returns the events that are trained, as a `pyarrow.Table`.

        The others are counted and kept before this returns.
        """
        in_time, bad = self._without_late(messages)
        values = [message.value() for message in in_time]
        table, wrong = self._events.parsed(values)
        bad += [
            _bad_event(in_time[number], MALFORMED, text)
            for number, text in sorted(wrong.items())
        ]
        self._put_aside(bad)
        late = len(messages) - len(in_time)
        self._count(good=len(table), malformed=len(wrong), late=late)
        if bad:
            self._log(bad[-1])
        return table

    def _without_late(
        self, messages: Sequence[Any]
    ) -> tuple[list[Any], list[BadEvent]]:
        in_time, late = [], []
        most = math.inf if self._late_ms is None else self._late_ms
        following: dict[tuple[str, int], int] = {}
        newest = {key: place.newest for key, place in self._places.items()}
        for message in messages:
            key = message.topic(), message.partition()
            following[key] = message.offset() + 1
            timestamp = _timestamp(message)
            behind = newest[key] - timestamp
            if behind < 0:
                newest[key] = timestamp
            if behind > most and timestamp != NO_TIME:
                text = f"is {behind / 1000:g} s older than the newest event before it"
                late.append(_bad_event(message, LATE, text))
            else:
                in_time.append(message)
        for key, offset in following.items():
            place = self._places[key]
            self._places[key] = place._replace(offset=offset, newest=newest[key])
        return in_time, late

    def _count(self, **counts: int) -> None:
        now = self.statistics
        self.statistics = now._replace(
            **{name: getattr(now, name) + count for name, count in counts.items()}
        )

    def _log(self, bad: BadEvent) -> None:
        logging.log_every_n_seconds(
            logging.WARNING,
            "%d events were malformed and %d late so far; the last one has offset %d "
            "of partition %d of topic %r: %s",
            _LOG_SECONDS,
            *(self.statistics.malformed, self.statistics.late),
            *(bad.offset, bad.partition, bad.topic, bad.message),
        )


def _timestamp(message: Any) -> int:
    kind, milliseconds = message.timestamp()
    return milliseconds if kind else NO_TIME


def _bad_event(message: Any, reason: str, text: str) -> BadEvent:
    return BadEvent(
        *(message.topic(), message.partition(), message.offset()),
        *(_timestamp(message), reason, text, message.value()),
    )
