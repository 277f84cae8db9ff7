"""Shows a plan's times as texts."""

from __future__ import annotations

from typing import Any

from persia_tf.planning.time_parts import ShardTimes

_UNITS = (
    *((1e-3, "µs", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0)),
    *((7200.0, "min", 1 / 60), (172_800.0, "h", 1 / 3600)),
)
_NOT_REACHED = "-"


def times_legend(plan: Any) -> str:
    """Returns the sentence before the table of times."""
    run = plan.times
    source = "was measured here" if run.is_measured else "was given"
    where = "all programs on this machine"
    if not run.same_machine:
        where = (
            f"a machine like this one for each program, {seconds_text(run.latency)} "
            f"from trainers to shards, and {run.network_gbits:g} Gb/s"
        )
    return (
        f"Times: a step of one trainer, whose own part {source}; with a staleness of "
        f"{run.staleness}, and {where}:"
    )


def rows_of_times(plan: Any) -> list[tuple[str, ...]]:
    """Returns the table of times: its header and its rows, as texts."""
    run = plan.times
    columns = ["shards", "own part", "step", "examples/s", "checkpoint"]
    columns += ["staleness"] if run.latency else []
    columns += ["trainers", "all examples/s"] if run.target_rate else []
    columns += ["run"]
    columns += ["cost"] if run.prices else []
    columns += ["busiest"]
    rows = [_cells(each.shards, each.times) for each in plan.shards]
    return [tuple(columns), *(tuple(row[name] for name in columns) for row in rows)]


def _cells(shards: int, times: ShardTimes) -> dict[str, str]:
    def shown(value: float | None, text: Any) -> str:
        return _NOT_REACHED if value is None else text(value)

    return {
        "shards": f"{shards:,}",
        "own part": seconds_text(times.own_step_seconds),
        "step": seconds_text(times.step_seconds),
        "examples/s": f"{times.examples_per_second:,.0f}",
        "checkpoint": seconds_text(times.checkpoint_seconds),
        "staleness": shown(times.hiding_staleness, str),
        "trainers": shown(times.trainers, "{:,}".format),
        "all examples/s": shown(times.rate, "{:,.0f}".format),
        "run": shown(times.run_seconds, seconds_text),
        "cost": shown(times.cost, "{:,.2f}".format),
        "busiest": f"{times.busiest} {times.busy:.0%}",
    }


def seconds_text(seconds: float) -> str:
    """Returns a time with three digits and a unit."""
    if seconds == 0:
        return "0 s"
    for below, unit, factor in _UNITS:
        if seconds < below:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds / 86_400:.3g} d"
