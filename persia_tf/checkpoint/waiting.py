"""Waiting for shards that save or restore."""

from __future__ import annotations

import time
from collections.abc import Callable

from persia_tf.checkpoint.shards import Progress, Shards

_POLL_SECONDS = 0.05


def wait_for_all(
    shards: Shards, tell: Callable[[list[Progress]], None] | None = None
) -> list[Progress]:
    """Waits until every shard has finished its save or restore.

    Args:
        shards: The shards.
        tell: Called repeatedly with their progress.

    Returns:
        The final progress of each shard.

    Raises:
        PersiaError: if a shard failed (the first one's error is raised), or does not
            answer.
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
    """Waits until no shard needs the checkpoint that it restored for its recovery.

    Args:
        shards: The shards.

    Raises:
        PersiaError: if a shard could not write its rows to its recovery folder (the
            first one's error is raised), or does not answer.
    """
    while needs := shards.needs():
        for need in needs:
            if need.error is not None:
                raise need.error
        time.sleep(_POLL_SECONDS)
