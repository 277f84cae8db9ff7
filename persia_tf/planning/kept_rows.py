"""How many of a table's rows eviction leaves."""

from __future__ import annotations

import re

from persia_tf.eviction import TTL, Eviction
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.growth import Growth

_CAPACITY = re.compile(r"(rows|bytes)\(count=(.+)\)")
# What a capacity in bytes counts for the index of each row: see cc/store/capacity.cc.
_INDEX_BYTES = 17


def kept(
    rows: Estimate,
    growth: Growth,
    eviction: Eviction | None,
    capacity: str,
    row_bytes: int,
) -> Estimate:
    """Returns how many of the admitted rows are left at the end of a run.

    Args:
        rows: How many rows were admitted.
        growth: The growth of the table's distinct ids.
        eviction: The table's policy. A lifetime in seconds is not known in steps, and
            evicts nothing here.
        capacity: The table's capacity, in the core's format.
        row_bytes: The bytes of a row: see `RowLayout`.
    """
    most = capacity_rows(capacity, row_bytes)
    if most is not None:
        rows = rows.at_most(most)
    steps = lifetime_steps(eviction)
    if steps is not None and steps < growth.lookups:
        recent = growth.distinct(steps)
        late = _unswept(growth, steps, recent.value)
        rows = Estimate(
            min(rows.value, recent.value + late),
            min(rows.low, recent.low),
            min(rows.high, recent.high + 2 * late),
        )
    return rows


def _unswept(growth: Growth, steps: int, live: float) -> float:
    """Returns how many rows have expired and were not swept yet.

    With each lookup, a shard sweeps 64 rows, one for every 16 ids, and 8 for each row
    that it creates (`cc/store/evictor.cc`). So as many rows expire, while it sweeps the
    whole table once, and half of them are still there.
    """
    created = max(growth.distinct(steps + 1).value - live, 0.0)
    ids = len(growth.counts.lookups.places) / growth.counts.lookups.count
    return created * live / (8 * created + ids / 16 + 64) / 2


def capacity_rows(capacity: str, row_bytes: int) -> float | None:
    """Returns the most rows of a table, over all shards; None without a limit."""
    parsed = _CAPACITY.fullmatch(capacity)
    if parsed is None:
        return None
    count = float(parsed[2])
    return count if parsed[1] == "rows" else count / (row_bytes + _INDEX_BYTES)


def lifetime_steps(eviction: Eviction | None) -> int | None:
    """Returns the lifetime of unused rows in lookups; None if there is none."""
    return eviction.get_config().get("steps") if isinstance(eviction, TTL) else None
