"""Warns of saved rows that a table does not hold after they were loaded."""

from __future__ import annotations

from absl import logging

from persia_tf.cluster import Cluster


def warn(table: str, held: int, saved: int, *, exactly: bool = True) -> None:
    """Logs a warning if a table holds fewer rows than were saved.

    Args:
        table: The table's name.
        held: How many rows the table holds.
        saved: How many rows were saved.
        exactly: Whether exactly `saved` rows were saved; otherwise, at most as many.
    """
    if held < saved:
        logging.warning(
            "table '%s' holds only %d of %s %d saved rows: the others exceed its "
            "capacity, of which each shard holds at most an equal share, or their "
            "lifetime was over",
            *(table, held, "the" if exactly else "up to", saved),
        )


def warn_of_restored(cluster: Cluster, *, exactly: bool) -> None:
    """Logs a warning for each table that lacks rows of a checkpoint.

    Call this after the checkpoint was restored, and before other lookups. A restored
    table counts from zero, so its evictions are those of rows that were restored.

    Args:
        cluster: The cluster.
        exactly: Whether the checkpoint is no increment. In a chain of increments, a row
            may be evicted more than once.
    """
    held: dict[str, int] = {}
    evicted: dict[str, int] = {}
    for shard in cluster.shard_stats():
        for part in shard.tables:
            # A part with lookups was not in the checkpoint.
            lost = part.evictions if part.rows_looked_up == 0 else 0
            held[part.name] = held.get(part.name, 0) + part.rows
            evicted[part.name] = evicted.get(part.name, 0) + lost
    for name, count in held.items():
        warn(name, count, count + evicted[name], exactly=exactly)
