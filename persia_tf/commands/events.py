"""What a native server has to tell, as records of Python's logging."""

from __future__ import annotations

import ctypes
import logging
import threading

from persia_tf import _native

_LEVELS = {1: logging.INFO, 2: logging.WARNING, 3: logging.ERROR}

# A wait without an event; `close` ends it at once.
_TAKE_SECONDS = 3600.0


class EventLog:
    """Logs events on a thread of its own, so that no request waits for a log.

    Example:

    >>> events = EventLog(logging.getLogger("persia.ps"))
    >>> options.events = events.handle
    >>> ...
    >>> events.close()  # After the server has gone.

    Args:
        logger: Gets them.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._library = _native.library()
        self.handle = _native.EventsHandle()
        self._library.persia_events_new(ctypes.byref(self.handle))
        self._closed = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="persia-events", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Logs what is left, and ends. No server may use the handle any more."""
        self._closed.set()
        self._library.persia_events_close(self.handle)
        self._thread.join()
        self._library.persia_events_free(self.handle)

    def _run(self) -> None:
        event = _native.Event()
        while True:
            closed = self._closed.is_set()
            self._library.persia_events_take(
                self.handle, _TAKE_SECONDS, ctypes.byref(event)
            )
            if event.level:
                self._log(event)
            elif closed:
                return

    def _log(self, event: _native.Event) -> None:
        level = _LEVELS[event.level]
        if not self._logger.isEnabledFor(level):
            return
        text = event.text.decode("utf-8", "replace")
        record = self._logger.makeRecord(
            self._logger.name, level, __file__, 0, "%s", (text,), None
        )
        record.created = event.unix_seconds  # When it happened, not now.
        self._logger.handle(record)
