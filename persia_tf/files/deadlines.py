"""Function calls with a time-out, for libraries that do not support deadlines."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

_Value = TypeVar("_Value")


class TimedCalls:
    """Makes calls with a time-out, each on its own thread. Thread-safe.

    Args:
        seconds: The time-out of each call.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._changed = threading.Condition()
        self._end = math.inf  # The deadline of all calls. Guarded by _changed.

    def call(self, function: Callable[..., _Value], *arguments: Any) -> _Value:
        """Calls a function, and returns when it ends or when its time-out expires.

        Args:
            function: The function. After a time-out it keeps running, and its outcome
                is ignored.
            *arguments: The function's arguments.

        Returns:
            What the function returns.

        Raises:
            TimeoutError: if the function takes too long.
            BaseException: whatever the function raises.
        """
        late = time.monotonic() + self._seconds
        outcome: list[tuple[Any, BaseException | None]] = []

        def run() -> None:
            try:
                result = (function(*arguments), None)
            except BaseException as error:
                result = (None, error)
            with self._changed:
                outcome.append(result)
                self._changed.notify_all()

        # A daemon thread, so that the program can end while a call hangs.
        threading.Thread(target=run, name="persia-files", daemon=True).start()
        with self._changed:
            while not outcome:
                now = time.monotonic()
                if now >= self._end:
                    raise TimeoutError("no answer before the end of this process")
                if now >= late:
                    raise TimeoutError(f"no answer in {self._seconds:g} s")
                self._changed.wait(min(late, self._end) - now)
        value, error = outcome[0]
        if error is not None:
            raise error
        return value

    def end_within(self, seconds: float) -> None:
        """Makes all calls, current and future, end within `seconds` from now."""
        with self._changed:
            self._end = min(self._end, time.monotonic() + seconds)
            self._changed.notify_all()
