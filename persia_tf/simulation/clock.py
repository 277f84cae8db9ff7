"""The simulated time, and what happens at which time."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[], None]


class Clock:
    """Runs actions in the order of their times; those of one time, as they came.

    Attributes:
        now: The simulated time in seconds.
    """

    def __init__(self) -> None:
        self.now = 0.0
        self._actions: list[tuple[float, int, Action]] = []
        self._order = itertools.count()

    def after(self, seconds: float, action: Action) -> None:
        """Runs an action `seconds` from now."""
        heapq.heappush(self._actions, (self.now + seconds, next(self._order), action))

    def run(self, is_done: Callable[[], bool]) -> None:
        """Runs actions until a condition holds.

        Args:
            is_done: The condition, which is asked after each action.

        Raises:
            RuntimeError: if no action is left before the condition holds.
        """
        while not is_done():
            if not self._actions:
                raise RuntimeError("the simulation waits for something forever")
            self.now, _, action = heapq.heappop(self._actions)
            action()


def after_all(count: int, then: Action) -> Action:
    """Returns an action that must run `count` times; the last time, `then` acts."""
    left = [count]

    def joined() -> None:
        left[0] -= 1
        if not left[0]:
            then()

    return joined
