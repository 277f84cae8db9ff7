"""Limits of rows in memory and in checkpoints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from persia_tf.base.store_layout import SUB_SHARDS
from persia_tf.native import core_limits
from persia_tf.simulation.limit import Facts, Limit

# The last sub-shard has nearly twice as many ids as the first: see planning/memory.py.
_LARGEST_SUB_SHARD = 2 * math.log(2)


def row_limits(facts: Facts) -> Iterator[Limit]:
    """Yields the limits of memory and of checkpoints."""
    yield from _memory(facts)
    yield Limit(
        "rows of a sub-shard, if one table has all rows",
        facts.rows_of_shard / SUB_SHARDS * _LARGEST_SUB_SHARD,
        core_limits.MOST_ROWS_OF_SUB_SHARD,
        "",
        "cc/store/row_index.h: Row is a uint32_t",
        "have more shards, or spread the rows over more tables. In the code: more than "
        "64 sub-shards of a table, since wider numbers of rows would make the buckets "
        "of the index (cc/store/bucket.h) longer than a line of the cache",
    )
    yield from _checkpoints(facts)


def saved_bytes_of_shard(facts: Facts) -> float:
    """Returns the bytes of a shard's file in a checkpoint."""
    return facts.rows_of_shard * facts.saved_row_bytes


def restore_seconds(facts: Facts) -> float:
    """Returns how long shards take to restore a checkpoint: each reads all files."""
    read = saved_bytes_of_shard(facts) * facts.setup.shards
    return read / facts.costs.restore_bytes_per_second


def _memory(facts: Facts) -> Iterator[Limit]:
    limit = facts.setup.shard_bytes or math.inf
    rows = facts.rows_of_shard * facts.row_bytes
    source = "--memory-limit of a shard; bytes per row: costs and set-up"
    yield Limit(
        "memory of a shard",
        rows,
        limit,
        "bytes",
        source,
        "have more shards, smaller rows (`row_dtype`, an optimizer with less state), "
        "or fewer rows (`capacity`, `admission`). Rows on a disk would need another "
        "allocator than cc/store/row_slab.h, whose rows are all in memory",
    )
    yield Limit(
        "memory of a shard while a checkpoint is restored over its rows",
        2 * rows,
        limit,
        "bytes",
        source,
        "restore into shards that are empty, or drop the tables first: shards read the "
        "whole checkpoint before they change their tables (cc/saving/checkpoints.cc), "
        "so that a damaged file changes nothing. To need less, they would have to "
        "check all files first, and then read them a second time, table by table",
    )


def _checkpoints(facts: Facts) -> Iterator[Limit]:
    own, costs = saved_bytes_of_shard(facts), facts.costs
    yield Limit(
        "time of a checkpoint",
        own / costs.checkpoint_bytes_per_second,
        facts.setup.checkpoint_minutes * 60 or math.inf,
        "seconds",
        "checkpoint_minutes; the rate: costs",
        "save increments (`save(incremental=True)`), or have more shards or faster "
        "disks. A shard writes one file on one thread (cc/saving/background_job.h), "
        "with at most a tenth of its machine's processor time while it serves "
        "(cc/saving/pace.h): several files a shard would use more of both",
    )
    yield Limit(
        "time to restore a checkpoint",
        restore_seconds(facts),
        facts.seconds_between_failures,
        "seconds",
        "the time between failures (assumed); the rate: costs",
        "let shards recover from their own logs, and have standbys, so that no restore "
        "is needed. Each shard reads the files of all shards "
        "(cc/checkpoint/store_loader.h), so more shards do not make it faster: a shard "
        "would have to pass over files of which it owns no slot, by the slots in their "
        "first block",
    )
