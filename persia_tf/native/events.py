"""Passes events of the native core to Python's logging."""

from __future__ import annotations

import atexit
import ctypes
import functools
import logging
import threading

from absl import logging as absl_logging

from persia_tf.native import capi

_LEVELS = {
    1: logging.INFO,
    2: logging.WARNING,
    3: logging.ERROR,
    4: logging.DEBUG,
}

# The longest wait for an event; `stop` ends the wait at once.
_TAKE_SECONDS = 3600.0


class EventLog:
    """Logs the core's events on its own thread, so that no request waits for logging.

    Example:

    >>> events = EventLog(logging.getLogger("persia.ps"))
    >>> options.events = events.handle
    >>> ...
    >>> events.close()  # Only after the server was freed.

    Args:
        logger: The logger that gets the events.
        thread: The thread's name. Defaults to `"persia-events"`.
    """

    def __init__(self, logger: logging.Logger, thread: str = "persia-events") -> None:
        self._logger = logger
        self._library = capi.library()
        self.handle = capi.EventsHandle()
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
        """Stops the log and frees its handle, which the core must no longer use."""
        self.stop()
        self._library.persia_events_free(self.handle)

    def _run(self) -> None:
        event = capi.Event()
        while True:
            closed = self._closed.is_set()
            self._library.persia_events_take(
                self.handle, _TAKE_SECONDS, ctypes.byref(event)
            )
            if event.level:
                self._log(event)
            elif closed:
                return

    def _log(self, event: capi.Event) -> None:
        level = _LEVELS[event.level]
        if not self._logger.isEnabledFor(level):
            return
        if not logging.getLogger().handlers:
            # `logging.info()` and absl's functions also add a handler if there is none.
            logging.basicConfig()
        text = event.text.decode("utf-8", "replace")
        record = self._logger.makeRecord(
            self._logger.name, level, __file__, 0, "%s", (text,), None
        )
        record.created = event.unix_seconds  # The time of the event, not of logging.
        self._logger.handle(record)


@functools.cache
def of_program() -> EventLog:
    """Returns the event log of this process's sessions; it uses absl's logger.

    The log is never freed, since sessions live until the process ends. A child process
    that was forked without `exec` lacks the log's thread, and so logs no events.
    """
    return EventLog(absl_logging.get_absl_logger(), "persia-program-events")


@atexit.register
def _stop_at_exit() -> None:
    # Exit functions run in reverse order of registration. `session` imports this
    # module, so its exit function, which flushes sessions, is registered later and runs
    # before this one.
    if of_program.cache_info().currsize:
        of_program().stop()
