"""Checks that every shard has its part of every table."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf import errors
from persia_tf.cluster import Cluster
from persia_tf.stats import ProcessStats


def check(cluster: Cluster) -> None:
    """Raises `FailedPreconditionError` if a shard lost its part of a table.

    Tables without rows are ignored, since a program may still be creating them. If some
    shards seem to lack a table, all shards are queried a second time: the table may
    have been created and trained between the answers of two shards.
    """
    if _torn_table(_owners(cluster)) is None:
        return
    shards = _owners(cluster)
    name = _torn_table(shards)
    if name is not None:
        raise errors.FailedPreconditionError(_described(name, shards))


def _owners(cluster: Cluster) -> list[ProcessStats]:
    """The shards that own slots. Another one may not have any table yet."""
    return [shard for shard in cluster.shard_stats() if shard.slots]


def _torn_table(shards: Sequence[ProcessStats]) -> str | None:
    """Returns the first table that has rows but is missing on some shards, or None."""
    parts = [part for shard in shards for part in shard.tables]
    for name in sorted({part.name for part in parts if part.rows}):
        if sum(part.name == name for part in parts) < len(shards):
            return name
    return None


def _described(name: str, shards: Sequence[ProcessStats]) -> str:
    rows = {
        shard.address: part.rows
        for shard in shards
        for part in shard.tables
        if part.name == name
    }
    holding = "".join(f"\n    {shard}: {count} rows" for shard, count in rows.items())
    lacking = "".join(
        f"\n    {shard.address}" for shard in shards if shard.address not in rows
    )
    return (
        f"table '{name}' is not whole: some shards lost their part of it"
        f"\n  hold it:{holding}\n  lack it:{lacking}"
        "\nNothing was saved, since the checkpoint would lack those rows too. Start "
        "those shards again with the recovery folder that they had, restore an earlier "
        "checkpoint, or drop what is left of the table."
    )
