"""Eviction policies: which rows a table evicts.

A row is evicted together with its optimizer state. If training looks up the row's id
again, the row is created again with its initial value. Training lookups and assignments
count as uses of a row; lookups by `evaluate` and `predict` do not. To evict n rows, a
table ranks a random sample of 8 n rows, or of 1024 rows if that is more.
"""

from __future__ import annotations

from typing import Any

from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.table_settings.policy import Policy

__all__ = ["Eviction", "LFU", "LRU", "TTL"]

# The core's 32-bit clock wraps around, so a lifetime may be at most half its range.
_LONGEST = 2**31 - 1


class Eviction(Policy):
    """Base of the eviction policies."""

    needs_capacity = True


@keras.saving.register_keras_serializable(package="persia_tf")
class LRU(Eviction):
    """Evicts the least recently used rows beyond the table's capacity."""

    rule = "lru"

    def __init__(self) -> None:
        super().__init__()


@keras.saving.register_keras_serializable(package="persia_tf")
class LFU(Eviction):
    """Evicts the least frequently used rows beyond the table's capacity.

    Rows that one of the table's last 16 training lookups used are evicted last, so that
    a new row has time to become frequent.
    """

    rule = "lfu"

    def __init__(self) -> None:
        super().__init__()


@keras.saving.register_keras_serializable(package="persia_tf")
class TTL(Eviction):
    """Evicts rows that were not used for a number of steps or of seconds.

    The table needs no capacity. If it has one, the least recently used rows beyond its
    capacity are evicted too.

    Args:
        steps: The lifetime as a number of training lookups of the table: an integer
            from 1 to 2**31 - 1. Each call of a layer makes one lookup. A shard counts
            only the lookups that contain an id of its own.
        seconds: The lifetime in seconds: an integer from 1 to 2**31 - 1. Exactly one
            of `steps` and `seconds` must be given.

    Raises:
        TypeError: if `steps` or `seconds` is not an integer.
        ValueError: if a number is out of its range, or both or neither are given.
    """

    rule = "ttl"
    needs_capacity = False

    def __init__(self, *, steps: int | None = None, seconds: int | None = None):
        if (steps is None) == (seconds is None):
            raise ValueError(
                "TTL needs exactly one of `steps` and `seconds`. "
                f"Received: steps={steps!r}, seconds={seconds!r}"
            )
        name, time = ("seconds", seconds) if steps is None else ("steps", steps)
        super().__init__(**{name: checks.integer(name, time, 1, _LONGEST)})


_BY_NAME = {cls.rule: cls for cls in (LRU, LFU)}


def get(identifier: Any, capacity: int | str | None) -> Eviction | None:
    """Returns the eviction policy that `identifier` names, or `identifier` itself.

    Args:
        identifier: None, `"lru"`, `"lfu"`, or an `Eviction`.
        capacity: The table's capacity, which LRU and LFU require.

    Returns:
        An `Eviction`, or None.

    Raises:
        TypeError: if `identifier` is neither a str nor an `Eviction`.
        ValueError: for an unknown name, or if a policy lacks the capacity it needs.
    """
    if identifier is None:
        return None
    eviction = identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        eviction = _BY_NAME[identifier.lower()]()
    if not isinstance(eviction, Eviction):
        error = ValueError if isinstance(identifier, str) else TypeError
        raise error(
            "`eviction` must be None, 'lru', 'lfu', or one of "
            "persia_tf.eviction.LRU(), LFU(), TTL(steps=...) and TTL(seconds=...). "
            f"Received: eviction={identifier!r}"
        )
    if eviction.needs_capacity and capacity is None:
        raise ValueError(
            f"`eviction` {eviction.rule!r} needs a `capacity`: rows are evicted when "
            "the table exceeds it. "
            f"Received: eviction={identifier!r}, capacity=None"
        )
    return eviction


def spec(eviction: Eviction | None, capacity: int | str | None) -> str:
    """Returns an eviction policy in the core's format.

    Args:
        eviction: An `Eviction`. None means `LRU()` if the table has a capacity, and
            otherwise no eviction.
        capacity: The table's capacity.

    Returns:
        `"never"`, `"lru"`, `"lfu"` or `"ttl(...)"`.
    """
    if eviction is not None:
        return eviction.spec()
    return "never" if capacity is None else LRU.rule
