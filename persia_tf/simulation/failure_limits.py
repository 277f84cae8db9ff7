"""Limits of failures: how often machines fail, and what is lost by it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from persia_tf.simulation.limit import Facts, Limit
from persia_tf.simulation.row_limits import recovery_seconds

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
        "failures per day; half of checkpoint_minutes is trained again, then programs "
        "restart, and a shard recovers",
        "save more often (increments are small); have standbys, so that a lost shard "
        "is back within seconds. Trainers train synchronously, so the loss of one "
        "stops all of them: going on with the others would need the all-reduce to "
        "change its members",
    )


def _lost_seconds(facts: Facts, interval: float) -> float:
    """Returns what a failure costs on the mean.

    The rows of a shard are recovered from its log. Programs that are started again
    begin at the last checkpoint, on the mean half an interval ago.
    """
    of_shards = facts.setup.shards / facts.machines if facts.machines > 1 else 1.0
    restart = facts.operation.restart_minutes * 60
    return interval / 2 + restart + of_shards * recovery_seconds(facts)
