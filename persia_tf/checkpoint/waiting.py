"""Waits for shards that save or restore a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable

from persia_tf.checkpoint.shards import Progress, Shards

_POLL_SECONDS = 0.05


def wait_for_all(
    shards: Shards,
    save_id: int,
    tell: Callable[[list[Progress]], None] | None = None,
    select: Callable[[list[Progress]], list[Progress]] = list,
) -> list[Progress]:
    """Waits until every shard has finished its save or restore.

    Args:
        shards: The shards.
        save_id: The number of the checkpoint that they save or restore.
        tell: A function that is called repeatedly with the progress of the shards.
        select: A function that returns the shards to wait for.

    Returns:
        The final progress of each shard.

    Raises:
        PersiaError: if a shard failed, or does not answer. If several failed, the error
            of the first is raised.
    """
    while True:
        progress = select(shards.progress(save_id))
        if tell is not None:
            tell(progress)
        for shard in progress:
            if shard.error is not None:
                raise shard.error
        if all(shard.has_ended for shard in progress):
            return progress
        time.sleep(_POLL_SECONDS)


def wait_until_not_needed(shards: Shards) -> None:
    """Waits until no shard depends on its restored checkpoint for recovery.

    Args:
        shards: The shards.

    Raises:
        PersiaError: if a shard could not write its rows to its recovery folder, or does
            not answer. If several failed, the error of the first is raised.
    """
    while needs := shards.needs():
        for need in needs:
            if need.error is not None:
                raise need.error
        time.sleep(_POLL_SECONDS)
