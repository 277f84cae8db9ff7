"""Rate-limited logging, so that clients cannot flood the log."""

from __future__ import annotations

import logging
import threading
import time

_MOST = 5
_SECONDS = 60.0


def limited(name: str) -> logging.Logger:
    """Returns a logger that repeats a message at most a few times per minute.

    Args:
        name: The logger's name.
    """
    logger = logging.getLogger(name)
    if not any(isinstance(each, LogLimit) for each in logger.filters):
        logger.addFilter(LogLimit())
    return logger


class LogLimit(logging.Filter):
    """Limits how often a message is logged, and reports how many were suppressed.

    Records count as the same message if their format strings, without the arguments,
    are equal: so a format string must not contain text from a client. Thread-safe.

    Args:
        most: How many records of one message are logged in a period.
        seconds: The length of the period, which begins with the message's first record.
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
    """The beginning of a message's period, and the number of records since then."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.count = 1
