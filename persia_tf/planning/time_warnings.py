"""What a plan's times warn of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from persia_tf.base.amounts import counted_text
from persia_tf.planning.time_text import seconds_text
from persia_tf.planning.times import MOST_STALENESS


def warnings_of_times(plan: Any) -> Iterator[str]:
    """Yields a sentence for each thing that the times of a plan warn of."""
    if plan.times is None:
        return
    yield from _of_target(plan)
    yield from _of_latency(plan)
    if plan.times.speed is None:
        yield (
            "it is not known how fast the machine was on which the costs of lookups "
            "and updates were measured, so times are those of that machine"
        )


def _of_target(plan: Any) -> Iterator[str]:
    target = plan.times.target_rate
    if target is None or any(each.times.trainers for each in plan.shards):
        return
    best = max(plan.shards, key=lambda each: each.times.highest_rate)
    count = counted_text(best.shards, "shard")
    yield (
        f"the run may not reach {target:,.0f} examples per second; the most is "
        f"{best.times.highest_rate:,.0f}, with {count}. More trainers would keep "
        "shards busy for more than 80% of the time, or wait too long for each other. "
        "Plan with more shards, a lower `target_rate`, or a model whose step is faster"
    )


def _of_latency(plan: Any) -> Iterator[str]:
    latency, staleness = plan.times.latency, plan.times.staleness
    needed = [each.times.hiding_staleness for each in plan.shards]
    if not latency or all(each is not None and each <= staleness for each in needed):
        return
    begin = f"a latency of {seconds_text(latency)} makes steps longer"
    if None in needed:
        yield f"{begin}, and no staleness up to {MOST_STALENESS} hides it"
        return
    yield (
        f"{begin} with a staleness of {staleness}; a staleness of {max(needed)} hides "
        "it, as `ptf.data.prefetch(..., staleness=...)` and `Cluster(staleness=...)` "
        "set it"
    )
