"""A log that whoever reaches a port cannot fill."""

from __future__ import annotations

import logging
import threading
import time

_MOST = 5
_SECONDS = 60.0


def limited(name: str) -> logging.Logger:
    """Returns a logger that tells the same a few times a minute.

    Args:
        name: The logger's.
    """
    logger = logging.getLogger(name)
    if not any(isinstance(each, LogLimit) for each in logger.filters):
        logger.addFilter(LogLimit())
    return logger


class LogLimit(logging.Filter):
    """Lets so many records of one text pass in a time, and then says what it held back.

    Records are of one text if they are before their arguments are put in: a text must
    not be made of what a client sends. Thread-safe.

    Args:
        most: Records of one text.
        seconds: The time. It begins with the first of them.
    """

    def __init__(self, most: int = _MOST, seconds: float = _SECONDS) -> None:
        super().__init__()
        self._most = most
        self._seconds = seconds
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        with self._lock:
            seen = self._seen.get(record.msg)
            if seen is None or now - seen.since >= self._seconds:
                held_back = 0 if seen is None else seen.count - self._most
                self._seen[record.msg] = _Seen(now)
                if held_back > 0:
                    record.msg = f"{record.msg} (and {held_back} more before it)"
                return True
            seen.count += 1
            return seen.count <= self._most


class _Seen:
    """A text that was logged."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.count = 1
