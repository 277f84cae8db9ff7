"""Limits of a lost shard: how it comes back, and how long programs wait for it."""

from __future__ import annotations

from collections.abc import Iterator

from persia_tf.native import core_limits
from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.operation import CHECKPOINT, LOG, STANDBY
from persia_tf.simulation.row_limits import restore_seconds, saved_bytes_of_shard

# From the kill of a shard until programs go on with its standby: the longest of 130
# kills (benchmarks/failover_bench.py and tests/faults/standby_test.py), with somebody
# who promotes the standby at once.
_PROMOTION_SECONDS = 0.54

# What programs wait for, by the kind of recovery: its name, source and remedy.
_WAITS = {
    LOG: (
        "recovery of a shard from its log",
        "Cluster(timeout=); cc/journal/journal.h: the log grows up to the base's size",
        "have standbys, which take a shard's place within seconds (docs/standbys.md), "
        "or raise the timeout, or have more shards: programs raise if a shard does not "
        "answer in time. A shard reads its base on one thread, and serves once all of "
        "it is read: several files, or serving meanwhile, would need "
        "cc/shard/recovery.h to change",
    ),
    STANDBY: (
        "recovery of a shard by its standby",
        "Cluster(timeout=); measured by benchmarks/failover_bench.py, without the time "
        "until somebody promotes the standby",
        "raise the timeout, so that whoever promotes the standby has more time "
        "(docs/standbys.md)",
    ),
}


def recovery_limits(facts: Facts) -> Iterator[Limit]:
    """Yields for how long programs wait for a lost shard, if they do."""
    if facts.operation.recovery in _WAITS:
        name, source, remedy = _WAITS[facts.operation.recovery]
        limit = facts.operation.timeout_seconds
        yield Limit(name, shard_seconds(facts), limit, "seconds", source, remedy)


def shard_seconds(facts: Facts) -> float:
    """Returns how long a lost shard takes at most to serve its rows again.

    At what rate it replays a log is not measured: it is taken for that of a base.
    """
    if facts.operation.recovery == STANDBY:
        return _PROMOTION_SECONDS
    if facts.operation.recovery == CHECKPOINT:
        return restore_seconds(facts)
    base = saved_bytes_of_shard(facts)
    log = max(base, core_limits.LEAST_BASE_BYTES) if base else 0.0
    return (base + log) / facts.costs.restore_bytes_per_second


def is_waited_for(facts: Facts) -> bool:
    """Whether programs go on with a lost shard, and need not begin again."""
    is_kept = facts.operation.recovery in _WAITS
    return is_kept and shard_seconds(facts) <= facts.operation.timeout_seconds
