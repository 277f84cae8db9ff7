"""What a number of shards has to do for each trainer, and to hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from persia_tf.planning.balance import over_mean
from persia_tf.planning.checkpoint_size import files_size
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.grown_table import GrownTable
from persia_tf.planning.observe import Sample
from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.traffic import traffic_of

MOST_SHARDS = 1024


def shards_plan(
    tables: Sequence[GrownTable], sample: Sample, shards: int, memory_limit: int | None
) -> ShardsPlan:
    """Returns what a number of shards has to do for each trainer, and to hold.

    Args:
        tables: The tables at the end of the run.
        sample: What was read of a sample.
        shards: The number of shards.
        memory_limit: The memory for tables on each shard, in bytes; None for no limit.
    """
    wire_dtypes = {each.table.key[0]: each.table.wire_dtype for each in tables}
    sends_bags = not any(each.table.hot_rows for each in tables)
    traffic = traffic_of(sample, shards, wire_dtypes, sends_bags)
    rows = np.sum([each.rows_of(shards) for each in tables], axis=0)
    memory = Estimate.sum(each.memory(shards) for each in tables)
    busiest = busiest_memory(tables, shards)
    settings = [(each.table.name, each.table.settings) for each in tables]
    beside_rows = files_size(settings, shards)
    checkpoint = Estimate.sum(each.checkpoint_bytes for each in tables)
    return ShardsPlan(
        shards=shards,
        lookup_requests=traffic.lookup_requests,
        update_requests=traffic.update_requests,
        bytes_out=traffic.bytes_out,
        bytes_in=traffic.bytes_in,
        lookup_bytes=traffic.lookup_bytes_out + traffic.lookup_bytes_in,
        update_bytes=traffic.update_bytes_out + traffic.update_bytes_in,
        busiest_rows=over_mean(rows),
        busiest_ids=over_mean(traffic.ids),
        busiest_bytes=over_mean(traffic.bytes),
        bytes=memory,
        busiest_shard_bytes=busiest,
        fits=None if memory_limit is None else busiest.high <= memory_limit,
        checkpoint_bytes=Estimate(
            *(each + beside_rows for each in dataclasses.astuple(checkpoint))
        ),
    )


def busiest_memory(tables: Sequence[GrownTable], shards: int) -> Estimate:
    """Returns the memory of all tables on the shard with the most rows.

    It is as much as if each table had the most rows on the same shard.
    """
    return Estimate.sum(each.busiest_memory(shards) for each in tables)


def least_shards(
    tables: Sequence[GrownTable], memory_limit: int, planned: Iterable[ShardsPlan]
) -> int | None:
    """Returns the least number of shards whose memory is within a limit.

    Args:
        tables: The tables at the end of the run.
        memory_limit: The memory for tables on each shard, in bytes.
        planned: Plans of some numbers of shards, which are not computed again.

    Returns:
        The number, at most `MOST_SHARDS`; None if so many are not enough.
    """
    planned = list(planned)
    fitting = [each.shards for each in planned if each.fits]
    enough = min(fitting, default=MOST_SHARDS)
    if not fitting and not _fits(tables, enough, memory_limit):
        return None
    too_few = max(
        (each.shards for each in planned if not each.fits and each.shards < enough),
        default=0,
    )
    # More shards have less each, so the number can be found by halving.
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if _fits(tables, middle, memory_limit):
            enough = middle
        else:
            too_few = middle
    return enough


def _fits(tables: Sequence[GrownTable], shards: int, memory_limit: int) -> bool:
    return busiest_memory(tables, shards).high <= memory_limit
