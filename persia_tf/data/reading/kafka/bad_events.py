"""A file of the events that were not trained."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from persia_tf.data.reading.kafka.position import Place

MALFORMED = "malformed"
LATE = "late"


class BadEvent(NamedTuple):
    """An event that is not trained.

    Attributes:
        topic: Its topic.
        partition: The number of its partition.
        offset: Its offset.
        timestamp: Its timestamp, in milliseconds.
        reason: `MALFORMED` or `LATE`.
        message: What is wrong with it.
        value: Its bytes; None if it has none.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    reason: str
    message: str
    value: bytes | None

    def to_line(self) -> str:
        """Returns the event as a line of JSON."""
        fields = self._asdict()
        value = fields.pop("value")
        try:
            fields["text"] = None if value is None else value.decode()
        except UnicodeDecodeError:
            fields["base64"] = base64.b64encode(value).decode()
        return json.dumps(fields) + "\n"


class BadEvents:
    """A file with a line for each event that was not trained.

    Each line is on the disk before the batch after it is handed out. Reading that
    begins at a place first removes the lines of events after it, which are read again.
    So the file never has an event twice, and never lacks one that lies before the
    position of a checkpoint. Thread-safe, but no other program may use the file.

    Args:
        path: The file; None to keep nothing.

    Raises:
        OSError: if the file cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else os.fspath(path)
        self._lock = threading.Lock()
        self._readings = 0
        if self._path is not None:
            with open(self._path, "a"):
                pass  # An error here is better than one at the first bad event.

    def begin(self, places: Sequence[Place]) -> Callable[[Sequence[BadEvent]], None]:
        """Begins a reading at some places, and ends the one before.

        Returns:
            Adds the events of this reading to the file, until the next one begins.
        """
        with self._lock:
            self._readings += 1
            number = self._readings
            if self._path is not None:
                self._trim({place.key: place.offset for place in places})

        def add(bad: Sequence[BadEvent]) -> None:
            with self._lock:
                # A reading that no one waits for may still go on.
                if bad and self._path is not None and number == self._readings:
                    self._append("".join(event.to_line() for event in bad))

        return add

    def _trim(self, offsets: dict[tuple[str, int], int]) -> None:
        unfinished = f"{self._path}.unfinished"
        with open(self._path) as old, open(unfinished, "w") as new:
            new.writelines(line for line in old if _is_before(line, offsets))
            new.flush()
            os.fsync(new.fileno())
        if os.path.getsize(unfinished) == os.path.getsize(self._path):
            os.remove(unfinished)
        else:
            os.replace(unfinished, self._path)

    def _append(self, lines: str) -> None:
        with open(self._path, "a") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())


def _is_before(line: str, offsets: dict[tuple[str, int], int]) -> bool:
    if not line.endswith("\n"):
        return False  # A program was killed while it wrote it.
    event: dict[str, Any] = json.loads(line)
    offset = offsets.get((event["topic"], event["partition"]))
    return offset is None or event["offset"] < offset
