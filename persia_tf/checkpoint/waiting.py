"""Waiting for shards that save or restore."""

from __future__ import annotations

import time
from collections.abc import Callable

from persia_tf.checkpoint.shards import Progress, Shards

_POLL_SECONDS = 0.05


def wait_for_all(
    shards: Shards, tell: Callable[[list[Progress]], None] | None = None
) -> list[Progress]:
    """Waits until every shard has ended.

    Args:
        shards: Whom to ask.
        tell: Is told how far they are, again and again.

    Returns:
        What each says in the end.

    Raises:
        PersiaError: the error of the first that failed, or if one does not answer.
    """
    while True:
        progress = shards.progress()
        if tell is not None:
            tell(progress)
        for shard in progress:
            if shard.error is not None:
                raise shard.error
        if all(shard.has_ended for shard in progress):
            return progress
        time.sleep(_POLL_SECONDS)


def wait_until_not_needed(shards: Shards) -> None:
    """Waits until no shard needs the checkpoint that it restored, to come back.

    Args:
        shards: Whom to ask.

    Raises:
        PersiaError: the error of the first that could not write its rows, or if one
            does not answer.
    """
    while needs := shards.needs():
        for need in needs:
            if need.error is not None:
                raise need.error
        time.sleep(_POLL_SECONDS)
