"""Calls a function periodically, on a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_logger = logging.getLogger("persia.serve")


class Poller:
    """Calls a function immediately, and then periodically until `stop`.

    Args:
        function: The function. Its exceptions are logged.
        what: What the function does, for the log and the thread's name.
        seconds: The pause between the end of a call and the next one.
    """

    def __init__(self, function: Callable[[], None], what: str, seconds: float) -> None:
        self._function = function
        self._what = what
        self._seconds = seconds
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"persia {what}", daemon=True
        )
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Stops the calls; waits up to `seconds` for a call in progress."""
        self._stopped.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._function()
            except Exception:
                _logger.exception("The %s failed; trying again", self._what)
            self._stopped.wait(self._seconds)
