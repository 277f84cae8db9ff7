"""What the native core has to tell, as records of Python's logging."""

from __future__ import annotations

import atexit
import ctypes
import functools
import logging
import threading

from absl import logging as absl_logging

from persia_tf import _native

_LEVELS = {
    1: logging.INFO,
    2: logging.WARNING,
    3: logging.ERROR,
    4: logging.DEBUG,
}

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
        thread: The thread's name. Defaults to `"persia-events"`.
    """

    def __init__(self, logger: logging.Logger, thread: str = "persia-events") -> None:
        self._logger = logger
        self._library = _native.library()
        self.handle = _native.EventsHandle()
        self._library.persia_events_new(ctypes.byref(self.handle))
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=thread, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Logs what is left, and ends. What is told later goes nowhere."""
        self._closed.set()
        self._library.persia_events_close(self.handle)
        self._thread.join()

    def close(self) -> None:
        """As `stop`, and frees the handle, which nobody may use any more."""
        self.stop()
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
        if not logging.getLogger().handlers:
            logging.basicConfig()  # As the functions of logging and of absl do.
        text = event.text.decode("utf-8", "replace")
        record = self._logger.makeRecord(
            self._logger.name, level, __file__, 0, "%s", (text,), None
        )
        record.created = event.unix_seconds  # When it happened, not now.
        self._logger.handle(record)


@functools.cache
def of_program() -> EventLog:
    """Returns the log of this process's sessions, which goes where absl's does.

    It is never freed, since sessions last as long as their process. A child that was
    forked without `exec` has no thread for it, and shows nothing.
    """
    return EventLog(absl_logging.get_absl_logger(), "persia-program-events")


@atexit.register
def _stop_at_exit() -> None:
    # Whoever imports this flushes at the exit too, and so before this.
    if of_program.cache_info().currsize:
        of_program().stop()
