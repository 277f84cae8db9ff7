"""The shards that save or restore together, and the slots of their files."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf import errors
from persia_tf.checkpoint.shards import Progress
from persia_tf.native.capi import SLOTS


def checked(progress: Sequence[Progress]) -> frozenset[str]:
    """Returns the names of the files that shards have begun to write.

    A shard writes the rows of the slots that it owned when it began. If slots move
    while one shard has begun and another one has not, their rows are in both files, or
    in none. A shard that joined the cluster after the others began writes no file.

    Raises:
        SlotsMovedError: if a slot is not in exactly one file. Its cause is an error if
            a shard may have been restarted instead.
        PersiaError: if a shard has failed to write its file.
    """
    files = at_work(progress)
    saving = [shard for shard in progress if shard.file in files]
    for shard in saving:
        if shard.error is not None:
            raise shard.error
    held = twice = 0
    for shard in saving:
        twice |= held & shard.slots
        held |= shard.slots
    missing = ~held & ((1 << SLOTS) - 1)
    if missing or twice:
        wrong = bin(missing | twice).count("1")
        raise errors.SlotsMovedError(
            f"{wrong} slots moved from shard to shard while the shards began to save: "
            "save again"
        ) from _restarted(progress)
    return files


def at_work(progress: Sequence[Progress]) -> frozenset[str]:
    """Returns the names of the files of shards that have begun to save or restore."""
    return frozenset(shard.file for shard in progress if not shard.is_idle)


def check_restarted(progress: Sequence[Progress]) -> None:
    """Raises a `PersiaError` if a shard with rows has no record of the work."""
    error = _restarted(progress)
    if error is not None:
        raise error


def _restarted(progress: Sequence[Progress]) -> errors.PersiaError | None:
    for shard in progress:
        if shard.is_idle and shard.slots:
            return shard.error
    return None


def select(progress: Sequence[Progress], files: frozenset[str]) -> list[Progress]:
    """Returns the progress of the shards with these files.

    Raises:
        SlotsMovedError: if a shard has left the cluster.
    """
    selected = [shard for shard in progress if shard.file in files]
    if len(selected) == len(files):
        return selected
    left = sorted(files - {shard.file for shard in selected})
    raise errors.SlotsMovedError(
        f"shards have left the cluster meanwhile: {', '.join(left)}. Try again"
    )
