"""Passes events of the native core to Python's logging."""

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

# The longest wait for an event; `stop` ends the wait at once.
_TAKE_SECONDS = 3600.0


class EventLog:
    """Logs events on its own thread, so that no request waits for logging.

    Example:

    >>> events = EventLog(logging.getLogger("persia.ps"))
    >>> options.events = events.handle
    >>> ...
    >>> events.close()  # After the server has gone.

    Args:
        logger: The logger that gets the events.
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
        """Logs the queued events and ends the thread. Later events are discarded."""
        self._closed.set()
        self._library.persia_events_close(self.handle)
        self._thread.join()

    def close(self) -> None:
        """Stops, and frees the handle. The core must not use the handle any more."""
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
    """Returns the event log of this process's sessions; it uses absl's logger.

    It is never freed, since sessions live until the process ends. A child that was
    forked without `exec` does not have its thread, and so logs no events.
    """
    return EventLog(absl_logging.get_absl_logger(), "persia-program-events")


@atexit.register
def _stop_at_exit() -> None:
    # `session` imports this module, so its exit function, which flushes, runs first.
    if of_program.cache_info().currsize:
        of_program().stop()
