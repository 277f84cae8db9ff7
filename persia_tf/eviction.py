"""Which rows leave a table: those that are used least, or not any more.

A row leaves with its optimizer state, and is begun anew if training meets its id
again. Rows are used by training lookups and by assigning them; lookups of
`evaluate`, `predict` and plain calls do not count. To evict n rows a table looks at a
random sample of 8 n rows, or 1024 if that is more.
"""

from __future__ import annotations

from typing import Any

from persia_tf import checks
from persia_tf._keras import keras
from persia_tf.policy import Policy

__all__ = ["Eviction", "LFU", "LRU", "TTL"]

# Half of a clock that counts in 32 bits.
_LONGEST = 2**31 - 1


class Eviction(Policy):
    """Base of the eviction policies."""

    needs_capacity = True


@keras.saving.register_keras_serializable(package="persia_tf")
class LRU(Eviction):
    """Beyond the table's capacity, the least recently used rows leave."""

    rule = "lru"

    def __init__(self) -> None:
        super().__init__()


@keras.saving.register_keras_serializable(package="persia_tf")
class LFU(Eviction):
    """Beyond the table's capacity, the least frequently used rows leave.

    Those that one of the table's last 16 training lookups used leave last, so
    that a new row can become frequent.
    """

    rule = "lfu"

    def __init__(self) -> None:
        super().__init__()


@keras.saving.register_keras_serializable(package="persia_tf")
class TTL(Eviction):
    """A row leaves once it was not used for a time, in steps or in seconds.

    Needs no capacity. Beyond one, the least recently used rows leave.

    Args:
        steps: Training lookups of the table, one a call of a layer: an integer
            from 1 to 2**31 - 1. Each shard counts those that ask it for any id.
        seconds: An integer from 1 to 2**31 - 1. Exactly one of the two must be
            given.

    Raises:
        TypeError: if `steps` or `seconds` is no integer.
        ValueError: if a number is out of its range, or both or none are given.
    """

    rule = "ttl"
    needs_capacity = False

    def __init__(self, *, steps: int | None = None, seconds: int | None = None):
        if (steps is None) == (seconds is None):
            raise ValueError(
                "exactly one of `steps` and `seconds` must be given. "
                f"Received: steps={steps!r}, seconds={seconds!r}"
            )
        name, time = ("seconds", seconds) if steps is None else ("steps", steps)
        super().__init__(**{name: checks.integer(name, time, 1, _LONGEST)})


_BY_NAME = {cls.rule: cls for cls in (LRU, LFU)}


def get(identifier: Any, capacity: int | str | None) -> Eviction | None:
    """Returns the eviction that `identifier` names or is.

    Args:
        identifier: None, `"lru"`, `"lfu"`, or an object of this module.
        capacity: The table's, which LRU and LFU need.

    Returns:
        An `Eviction`, or None.

    Raises:
        TypeError: for what is neither a name nor an eviction.
        ValueError: for another name, or if there is no capacity to go beyond.
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
            f"`eviction` {eviction.rule!r} needs a `capacity` beyond which rows leave. "
            f"Received: eviction={identifier!r}, capacity=None"
        )
    return eviction


def spec(eviction: Eviction | None, capacity: int | str | None) -> str:
    """Returns an eviction as the core's text.

    Args:
        eviction: As `get` returns it. None evicts nothing; with a capacity it is
            the same as `LRU()`.
        capacity: The table's.

    Returns:
        `"never"`, `"lru"`, `"lfu"` or `"ttl(...)"`.
    """
    if eviction is not None:
        return eviction.spec()
    return "never" if capacity is None else LRU.rule
