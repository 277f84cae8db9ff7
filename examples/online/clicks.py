"""Clicks of users whose preferences drift."""

import json

import numpy as np

USERS = 1_000
ITEMS = 200
# Users and items from here on are those of `freshness.py`.
FIRST_PROBE = 10**12
COLUMNS = {"user": "int64", "item": "int64", "clicked": "float32"}

_TURN_SECONDS = 600


class Clicks:
    """Draws what users are shown, and whether they click it.

    Users and items are directions on a circle: a user clicks items in its direction.
    Users turn, so what was learned becomes wrong in the course of minutes.

    Args:
        seed: the seed of the users, the items and the draws.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._users = self._random.uniform(0, 2 * np.pi, USERS)
        self._items = self._random.uniform(0, 2 * np.pi, ITEMS)
        self._speeds = self._random.normal(0, 2 * np.pi / _TURN_SECONDS, USERS)

    def draw(self, count: int, seconds: float) -> list[bytes]:
        """Returns events.

        Args:
            count: how many.
            seconds: the time since the users began to turn.
        """
        users = self._random.integers(USERS, size=count)
        items = self._random.integers(ITEMS, size=count)
        directions = self._users[users] + self._speeds[users] * seconds
        logits = 4 * np.cos(directions - self._items[items]) - 1
        clicked = self._random.random(count) < 1 / (1 + np.exp(-logits))
        return [event(*each) for each in zip(users, items, clicked)]


def event(user: int, item: int, clicked: bool) -> bytes:
    """Returns the event of a user to whom an item was shown."""
    fields = {"user": int(user), "item": int(item), "clicked": int(clicked)}
    return json.dumps(fields).encode()
