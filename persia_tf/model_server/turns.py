"""Large work of requests, so much at once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from persia_tf.model_server.running import late


class Turns:
    """Lets so many pieces of work run at once; others wait for their turn.

    Threads that compute in Python hold the interpreter's lock in turn: the more there
    are, the longer waits the one that answers all that is short.

    Args:
        most: How many.
    """

    def __init__(self, most: int) -> None:
        self._places = threading.Semaphore(most)

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Waits for a turn, and holds it.

        Args:
            deadline: When to give up waiting, on `time.monotonic()`'s clock.

        Raises:
            DeadlineExceededError: If none came in time.
        """
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise late()
        try:
            yield
        finally:
            self._places.release()
