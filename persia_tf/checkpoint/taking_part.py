"""The shards that save or restore together, and the slots of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from persia_tf import errors
from persia_tf.checkpoint.shards import Progress
from persia_tf.native.capi import SLOTS


class TakingPart(NamedTuple):
    """The shards that have begun to save or restore.

    Attributes:
        files: The names of their files.
        needed: Those of shards with slots. The others have no rows, and may leave the
            cluster, or begin to take slots over, before they have ended.
    """

    files: frozenset[str]
    needed: frozenset[str]


def checked(progress: Sequence[Progress]) -> TakingPart:
    """Returns which shards have begun.

    A shard saves or replaces the rows of the slots that it owned when it began. If
    slots move while one shard has begun and another one has not, both of them do so, or
    none. A shard that joined the cluster after the others began takes no part.

    Raises:
        SlotsMovedError: if a slot is not exactly one shard's. Its cause is an error if
            a shard may have been restarted instead.
        PersiaError: if a shard has failed.
    """
    taking_part = [shard for shard in progress if not shard.is_idle]
    for shard in taking_part:
        if shard.error is not None:
            raise shard.error
    held = twice = 0
    for shard in taking_part:
        twice |= held & shard.slots
        held |= shard.slots
    missing = ~held & ((1 << SLOTS) - 1)
    if missing or twice:
        wrong = bin(missing | twice).count("1")
        raise errors.SlotsMovedError(
            f"{wrong} slots moved from shard to shard while the shards began. Try again"
        ) from _restarted(progress)
    return TakingPart(
        frozenset(shard.file for shard in taking_part),
        frozenset(shard.file for shard in taking_part if shard.slots),
    )


def _restarted(progress: Sequence[Progress]) -> errors.PersiaError | None:
    for shard in progress:
        if shard.is_idle and shard.slots:
            return shard.error
    return None


def select(progress: Sequence[Progress], shards: TakingPart) -> list[Progress]:
    """Returns the progress of the shards that take part.

    Raises:
        SlotsMovedError: if a shard with slots has left the cluster.
    """
    left = sorted(shards.needed - {shard.file for shard in progress})
    if left:
        raise errors.SlotsMovedError(
            f"shards have left the cluster meanwhile: {', '.join(left)}. Try again"
        )
    return [
        shard
        for shard in progress
        if shard.file in shards.needed
        or (shard.file in shards.files and not shard.is_idle)
    ]
