"""Limits of failures: how often machines fail, and what is lost by it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.recovery_limits import is_waited_for, shard_seconds

_DAY = 86_400


def failure_limits(facts: Facts) -> Iterator[Limit]:
    """Yields how often machines fail, and the time that is lost."""
    a_day = _DAY / facts.seconds_between_failures
    interval = facts.setup.checkpoint_minutes * 60
    yield Limit(
        "failures per day",
        a_day,
        _DAY / interval if interval else math.inf,
        "",
        "days_between_failures (assumed); one for each checkpoint_minutes",
        "save more often, or have fewer machines: with more failures than checkpoints, "
        "a program that begins again at the last checkpoint makes no progress",
    )
    yield Limit(
        "part of the time that is lost to failures",
        a_day * _lost_seconds(facts, interval) / _DAY,
        1.0,
        "share",
        "failures per day; after one, half of checkpoint_minutes is trained again, and "
        "programs restart, unless only a shard is lost that recovers in their timeout",
        "save more often (increments are small); have standbys, so that a lost shard "
        "is back within seconds. Trainers train synchronously, so the loss of one "
        "stops all of them: going on with the others would need the all-reduce to "
        "change its members",
    )


def _lost_seconds(facts: Facts, interval: float) -> float:
    """Returns what a failure costs on the mean.

    Programs that begin again do so at the last checkpoint, on the mean half an interval
    ago. They need not if only a shard was lost, and is back while they wait for it.
    """
    setup, back = facts.setup, shard_seconds(facts)
    again = interval / 2 + facts.operation.restart_minutes * 60
    if facts.machines == 1:  # All programs are on it.
        return again + back
    of_shards = setup.shards / facts.machines
    of_programs = (setup.trainers + setup.workers) / facts.machines
    lost_shard = back if is_waited_for(facts) else back + again
    return of_programs * again + of_shards * lost_shard
