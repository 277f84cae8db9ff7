"""Limits how many large pieces of work run at a time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

from persia_tf.model_server.running import late


class Turns:
    """Limits how many pieces of work run at a time; others wait.

    Threads that compute in Python compete for the interpreter's lock: the more there
    are, the longer the thread that answers short requests waits.

    Args:
        most: The limit.
    """

    def __init__(self, most: int) -> None:
        self._places = threading.Semaphore(most)

    @contextlib.contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Waits for a turn, and holds it for the block.

        Args:
            deadline: When to stop waiting, on `time.monotonic()`'s clock.

        Raises:
            DeadlineExceededError: If there is no turn in time.
        """
        if not self._places.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise late()
        try:
            yield
        finally:
            self._places.release()
