"""Checks lists of shards from a program's arguments or its environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persia_tf import errors
from persia_tf.base import addresses


def checked(source: str, shards: Sequence[Any]) -> list[str]:
    """Returns a list of shards' addresses, after checking every entry.

    Args:
        source: The argument or variable that holds the list, for messages.
        shards: `"host:port"` of each shard.

    Raises:
        TypeError: if an entry is not a str.
        ValueError: if an entry does not parse, or occurs twice.
    """
    shards = list(shards)
    for shard in shards:
        if not isinstance(shard, str):
            raise TypeError(
                f'{source} must name each shard by a str, "host:port". '
                f"Received: {shard!r} in {shards!r}"
            )
        try:
            addresses.parse(shard)
        except errors.InvalidArgumentError as error:
            raise ValueError(f"{source}: {error}. Received: {shards!r}") from error
    try:
        addresses.check_once(shards)
    except errors.InvalidArgumentError as error:
        raise ValueError(f"{source} {error}") from error
    return shards


def parsed(source: str, text: str) -> list[str]:
    """Returns the shards in `"host:port,host:port"`, or [] for a blank text."""
    listed = [shard.strip() for shard in text.split(",")] if text.strip() else []
    if any(separator in shard for shard in listed for separator in "; "):
        raise ValueError(
            f"{source} must separate addresses by commas, as in "
            f'"host:7000,host:7001". Received: {text!r}'
        )
    return checked(source, listed)
