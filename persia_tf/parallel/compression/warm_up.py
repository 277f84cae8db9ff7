"""The first calls of an exchange, in which nothing is encoded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf.parallel.compression import states
from persia_tf.parallel.members import Members


class WarmUp:
    """Tells which calls are exact: the first ones.

    Args:
        calls: How many.
        name: The name of its variable, which it has unless `calls` is 0.
    """

    def __init__(self, calls: int, name: str) -> None:
        self._calls = calls
        self._done = states.zeros([], tf.int64, f"{name}/warm_up") if calls else None

    @property
    def state(self) -> dict[str, tf.Variable]:
        """The variable, by name."""
        return {} if self._done is None else {"warm_up": self._done}

    def begin(self) -> tf.Tensor | None:
        """Counts a call; returns whether it is exact, or None if no call is."""
        if self._done is None:
            return None
        done = self._done.read_value()
        self._done.assign_add(1)
        return done < self._calls


def either(
    members: Members,
    is_exact: tf.Tensor | None,
    exact: Callable[[], Any],
    encoded: Callable[[], Any],
) -> Any:
    """Exchanges tensors exactly, or encoded.

    Args:
        members: The members that exchange them.
        is_exact: From `WarmUp.begin`, equal on all members.
        exact: Returns a nest of tensors.
        encoded: The same, with the same structure and dtypes.
    """
    return encoded() if is_exact is None else members.either(is_exact, exact, encoded)
