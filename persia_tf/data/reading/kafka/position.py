"""Where a program is in the partitions that it reads."""

from __future__ import annotations

from typing import NamedTuple

ENDLESS = -1
NO_TIME = -1


class Place(NamedTuple):
    """A place between two events of a partition.

    Attributes:
        topic: The topic.
        partition: The partition's number.
        offset: That of the first event after the place.
        end: The offset at which reading ends, or `ENDLESS`.
        newest: The greatest timestamp of the events before the place that were read, in
            milliseconds, or `NO_TIME`. Late events are told by it, so that a program
            that goes on finds the same ones.
    """

    topic: str
    partition: int
    offset: int
    end: int = ENDLESS
    newest: int = NO_TIME

    def __str__(self) -> str:
        return f"partition {self.partition} of topic {self.topic!r}"

    @property
    def key(self) -> tuple[str, int]:
        """The topic and the partition."""
        return self.topic, self.partition

    @property
    def is_end(self) -> bool:
        """Whether reading ends here."""
        return self.end != ENDLESS and self.offset >= self.end


class KafkaPosition(NamedTuple):
    """A place between two batches of a stream.

    Attributes:
        epoch: The number of the epoch, from 0.
        places: The place in each partition, in the order of topics and partitions.
    """

    epoch: int
    places: tuple[Place, ...]
