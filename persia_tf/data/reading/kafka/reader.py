"""Takes events from Kafka, from places in its partitions on."""

from __future__ import annotations

import collections
import heapq
import time
from collections.abc import Sequence
from typing import Any

from absl import logging

from persia_tf import errors
from persia_tf.data.reading.kafka.client import KafkaClient
from persia_tf.data.reading.kafka.position import ENDLESS, Place

Key = tuple[str, int]

_NEVER = 1 << 63
_MOST_AT_ONCE = 10_000
# Of a partition that waits for others, this many events are kept.
_MOST_WAITING = 2 * _MOST_AT_ONCE
# How long a partition may have no events before its broker is asked.
_QUIET_SECONDS = 5.0
_PROBE_SECONDS = 1.0
_LOG_SECONDS = 10


class KafkaReader:
    """Takes the events of some partitions, each once and in its partition's order.

    Args:
        client: Makes the consumer.
        places: Where to begin. If they have ends, partitions are merged by timestamp:
            the order is then the same each time.
        skips_removed: Whether to go on if events were removed before they were read.
        tell_removed: Is called with the number of these events.

    Raises:
        ValueError: if librdkafka does not accept the client's settings.
    """

    def __init__(
        self,
        client: KafkaClient,
        places: Sequence[Place],
        skips_removed: bool,
        tell_removed: Any,
    ) -> None:
        self._client = client
        self._skips_removed = skips_removed
        self._tell_removed = tell_removed
        self._left = {place.key: place for place in places if not place.is_end}
        self._next = {key: place.offset for key, place in self._left.items()}
        self._ends = {
            key: _NEVER if place.end == ENDLESS else place.end
            for key, place in self._left.items()
        }
        self._merge = Merge(self._left) if self._has_ends(places) else None
        self._paused: set[Key] = set()
        self._silence = _Silence(client, list(self._left))
        self._consumer = client.consumer()
        self._consumer.assign([client.at(*key, at) for key, at in self._next.items()])

    @property
    def is_done(self) -> bool:
        """Whether all events up to the ends of all partitions were taken."""
        return not self._left and (self._merge is None or self._merge.is_empty)

    def close(self) -> None:
        """Ends reading."""
        self._consumer.close()

    def take(self, most: int, seconds: float) -> list[Any]:
        """Returns the next events, as `confluent_kafka.Message`s.

        Args:
            most: How many events to return at most.
            seconds: How long to wait for them.

        Raises:
            DataLossError: if events were removed, unless they are skipped.
            NotFoundError: if a topic or a partition no longer exists.
            UnavailableError: if a broker does not answer.
        """
        if self._merge is None:
            return self._consume(min(most, _MOST_AT_ONCE), seconds)
        taken = self._merge.take(most)
        if taken:
            self._hold_back()
            return taken
        for message in self._consume(_MOST_AT_ONCE, seconds if self._left else 0):
            self._merge.add(message)
        self._hold_back()
        return self._merge.take(most)

    def _consume(self, most: int, seconds: float) -> list[Any]:
        if not self._left:
            return []
        taken, heard = [], set()
        for message in self._consumer.consume(most, seconds):
            key = message.topic(), message.partition()
            if message.error() is not None:
                self._handle(message, key)
                continue
            offset = message.offset()
            if offset < self._next.get(key, _NEVER):
                continue  # It was taken already, or its partition has ended.
            heard.add(key)
            self._next[key] = offset + 1
            end = self._ends[key]
            if offset < end:
                taken.append(message)
            if offset + 1 >= end:
                self._end(key)
        for key in heard & self._left.keys():
            self._silence.heard(key)
        self._silence.check(self._consumer)
        return taken

    def _handle(self, message: Any, key: Key) -> None:
        """Raises the error of a message, unless reading goes on."""
        error = message.error()
        away = (error._TRANSPORT, error._ALL_BROKERS_DOWN, error._TIMED_OUT)
        if error.code() in away:
            return  # The client tries again, and probes find out if it tries too long.
        if key not in self._left:
            return
        place = self._left[key]._replace(offset=self._next[key])
        if error.code() == error._PARTITION_EOF:
            self._silence.heard(key)
            # The last offsets may be those of marks of transactions.
            if message.offset() >= self._ends[key]:
                self._end(key)
        elif error.code() in (error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE):
            self._go_on_after_removed(place)
        else:
            raise self._client.refused(error, str(place))

    def _go_on_after_removed(self, place: Place) -> None:
        first, end = self._client.range(self._consumer, place.key)
        what = f"Kafka has no offset {place.offset} of {place}"
        if place.offset > end:
            raise errors.DataLossError(
                f"{what}: its events end before offset {end}, so the topic was made "
                "anew, or lost events. Begin with another folder of checkpoints, or "
                "with an earlier one"
            )
        if not self._skips_removed:
            raise errors.DataLossError(
                f"{what}: {max(first - place.offset, 0)} events were removed before "
                f"they were read, and the first that is left has offset {first}. To go "
                "on there, pass `removed='skip'`; let the topic keep its events longer"
            )
        first = max(first, place.offset)
        logging.warning(
            "%s: %d events were removed before they were read; reading goes on at "
            "offset %d",
            *(what, first - place.offset, first),
        )
        self._tell_removed(first - place.offset)
        self._next[place.key] = first
        self._consumer.incremental_unassign([self._client.at(*place.key)])
        if first >= self._ends[place.key]:
            self._end(place.key, is_assigned=False)
        else:
            self._consumer.incremental_assign([self._client.at(*place.key, first)])

    def _end(self, key: Key, is_assigned: bool = True) -> None:
        del self._left[key], self._next[key]
        self._silence.forget(key)
        self._paused.discard(key)
        if is_assigned:
            self._consumer.incremental_unassign([self._client.at(*key)])
        if self._merge is not None:
            self._merge.end(key)

    def _hold_back(self) -> None:
        """Pauses partitions of which many events wait for those of others."""
        many = {key for key in self._left if self._merge.waiting(key) > _MOST_WAITING}
        if many - self._paused:
            self._consumer.pause([self._client.at(*key) for key in many - self._paused])
        few = {key for key in self._paused if self._merge.waiting(key) <= _MOST_AT_ONCE}
        if few:
            self._consumer.resume([self._client.at(*key) for key in few])
        self._paused = (self._paused | many) - few
        for key in self._paused:
            self._silence.heard(key)

    @staticmethod
    def _has_ends(places: Sequence[Place]) -> bool:
        return any(place.end != ENDLESS for place in places)


class Merge:
    """Merges the events of partitions by their timestamps.

    Which event is next depends on the events that are left only, so that a program
    that goes on anywhere takes the same ones.

    Args:
        keys: The partitions that have events.
    """

    def __init__(self, keys: Any) -> None:
        self._waiting = {key: collections.deque() for key in sorted(keys)}
        # Partitions whose next event is not known yet.
        self._unknown = set(self._waiting)
        self._ended: set[Key] = set()
        self._heads: list[tuple[int, Key]] = []

    @property
    def is_empty(self) -> bool:
        """Whether no events wait."""
        return not self._heads

    def waiting(self, key: Key) -> int:
        """Returns how many events of a partition wait."""
        return len(self._waiting[key])

    def add(self, message: Any) -> None:
        """Adds the next event of a partition."""
        key = message.topic(), message.partition()
        self._waiting[key].append(message)
        if len(self._waiting[key]) == 1:
            self._unknown.discard(key)
            heapq.heappush(self._heads, (message.timestamp()[1], key))

    def end(self, key: Key) -> None:
        """Says that a partition has no more events than were added, or soon are."""
        self._ended.add(key)
        self._unknown.discard(key)

    def take(self, most: int) -> list[Any]:
        """Returns the next events, as far as they are known."""
        taken: list[Any] = []
        while self._heads and not self._unknown and len(taken) < most:
            _, key = heapq.heappop(self._heads)
            waiting = self._waiting[key]
            taken.append(waiting.popleft())
            if waiting:
                heapq.heappush(self._heads, (waiting[0].timestamp()[1], key))
            elif key not in self._ended:
                self._unknown.add(key)
        return taken


class _Silence:
    """Finds out whether brokers of partitions without events are still there."""

    def __init__(self, client: KafkaClient, keys: Sequence[Key]) -> None:
        self._client = client
        self._pause = min(client.timeout / 3, _QUIET_SECONDS)
        self._heard = dict.fromkeys(keys, time.monotonic())
        self._failed: dict[Key, float] = {}
        self._next = time.monotonic() + self._pause

    def heard(self, key: Key) -> None:
        """Says that a partition's broker has answered."""
        self._heard[key] = time.monotonic()
        self._failed.pop(key, None)

    def forget(self, key: Key) -> None:
        """Says that a partition is no longer read."""
        self._heard.pop(key, None)
        self._failed.pop(key, None)

    def check(self, consumer: Any) -> None:
        """Asks for partitions that were silent.

        Raises:
            UnavailableError: if a broker has not answered for too long.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._pause
        for key in [key for key, at in self._heard.items() if now - at >= self._pause]:
            if not self._answers(consumer, key):
                self._next = time.monotonic()
                return

    def _answers(self, consumer: Any, key: Key) -> bool:
        begin = time.monotonic()
        try:
            self._client.range(consumer, key, _PROBE_SECONDS)
        except errors.UnavailableError as error:
            first = self._failed.setdefault(key, begin)
            if time.monotonic() - first < self._client.timeout:
                logging.log_every_n_seconds(
                    logging.WARNING, "%s; trying again", _LOG_SECONDS, error.args[0]
                )
                return False
            raise self._client.unreachable(
                str(Place(*key, 0)), error.__cause__
            ) from error
        self.heard(key)
        return True
