"""Shows the report of a simulation as text."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

from persia_tf.base.amounts import count_text, size_text
from persia_tf.base.tables import aligned
from persia_tf.simulation.fields import FIELDS, shown
from persia_tf.simulation.limit import Limit
from persia_tf.simulation.sensitivity import Change

_COLUMNS = 88
# What has so much headroom breaks when the cluster is that many times as large.
NEAR = 10.0

HEADROOM_LEGEND = (
    "Headroom is the limit over the number. Below 1, the set-up does not work as it "
    "is, or is slower if that is what happens beyond the limit. What is busy has a "
    "headroom near 1 if it limits the throughput."
)
SENSITIVITY_LEGEND = (
    "The change of examples per second with half and with twice of each assumption."
)


def report_text(report: Any) -> str:
    """Returns a report as text."""
    lines = [
        report.title,
        provenance(report),
        "",
        *aligned(rows_of_throughput(report), left=1),
        *_wrapped(bound_text(report)),
        "",
        *aligned(rows_of_times(report), left=1),
        "",
        *aligned(rows_of_busy(report), left=1),
        "",
        *_wrapped(first_text(report)),
        *_wrapped(HEADROOM_LEGEND),
        "",
        *aligned(rows_of_limits(report), left=1),
        "",
        "What would have to change, of what has less than 10 times of headroom:",
        *(line for limit in near(report.limits) for line in _remedy(limit)),
    ]
    if report.sensitivity is not None:
        lines += [
            "",
            *_wrapped(SENSITIVITY_LEGEND),
            "",
            *aligned(rows_of_sensitivity(report.sensitivity), left=1),
        ]
    lines += ["", *aligned(rows_of_values(report), left=4)]
    return "\n".join(lines)


def provenance(report: Any) -> str:
    """Returns how much was simulated, and where the costs come from."""
    return (
        f"{report.steps:,} simulated steps of each trainer; costs: "
        f"{report.measured.get('command', 'of a file')}"
    )


def bound_text(report: Any) -> str:
    """Returns why the throughput is only an upper bound; nothing if it is none."""
    if report.values["dense_seconds"].value > 0:
        return ""
    return (
        "The dense part is taken to need no time, so this is the most that lookups and "
        "updates allow: give --dense-ms."
    )


def first_text(report: Any) -> str:
    """Returns what breaks first."""
    first = next(limit for limit in report.limits if limit.beyond == "fails")
    busiest, part = next(iter(report.busy.items()))
    exceeded = "exceeded" if first.headroom < 1 else "not yet exceeded"
    return (
        f"What breaks first: {first.name} ({exceeded}): "
        f"{amount(first.number, first.unit)} of at most "
        f"{amount(first.limit, first.unit)}. That is the nearest limit beyond which "
        "something fails, and is not only slower. "
        f"What limits the speed: {busiest}, busy for {part:.0%} of the time."
    )


def near(limits: Iterable[Limit]) -> list[Limit]:
    """Returns the limits that are near."""
    return [limit for limit in limits if limit.headroom < NEAR]


def rows_of_throughput(report: Any) -> list[tuple[str, ...]]:
    """Returns the table of the throughput, as texts."""
    return [
        ("throughput", "per second"),
        ("examples, of all trainers", count_text(report.examples_per_second)),
        ("steps, of each trainer", f"{report.simulated.per_second:.4g}"),
    ]


def rows_of_times(report: Any) -> list[tuple[str, ...]]:
    """Returns the table of times, as texts."""
    simulated = report.simulated
    return [
        ("time", "median", "99%"),
        ("step", _seconds(simulated.p50), _seconds(simulated.p99)),
        ("lookup", _seconds(simulated.lookup_p50), _seconds(simulated.lookup_p99)),
        ("update", _seconds(simulated.update_p50), _seconds(simulated.update_p99)),
    ]


def rows_of_busy(report: Any) -> list[tuple[str, ...]]:
    """Returns the table of what is busy, as texts."""
    rows = [(name, f"{part:.1%}") for name, part in report.busy.items()]
    return [("busy", "of the time"), *rows]


def rows_of_limits(report: Any) -> list[tuple[str, ...]]:
    """Returns the table of limits, as texts."""
    rows = [
        (
            limit.name,
            amount(limit.number, limit.unit),
            amount(limit.limit, limit.unit),
            headroom_text(limit),
            limit.beyond,
        )
        for limit in report.limits
    ]
    return [("limit", "number", "of at most", "headroom", "beyond it"), *rows]


def rows_of_sensitivity(changes: Iterable[Change]) -> list[tuple[str, ...]]:
    """Returns the table of a sensitivity, as texts."""
    rows = [
        (change.name, _percent(change.halved), _percent(change.doubled))
        for change in changes
    ]
    return [("assumption", "half", "double"), *rows]


def rows_of_values(report: Any) -> list[tuple[str, ...]]:
    """Returns the table of values with their sources, as texts."""
    rows = []
    for field in FIELDS:
        value = report.values[field.name]
        text = shown(field.kind, value.value)
        rows.append((field.option, text, value.source, value.why))
    return [("option", "value", "source", "why"), *rows]


def amount(number: float, unit: str) -> str:
    """Returns a number with its unit."""
    if not math.isfinite(number):
        return "-"
    if unit == "bytes":
        return size_text(number)
    if unit == "seconds":
        return _seconds(number)
    if unit == "share":
        return f"{number:.1%}"
    return count_text(number)


def headroom_text(limit: Limit) -> str:
    """Returns a headroom, with as many digits as say something."""
    headroom = limit.headroom
    if not math.isfinite(headroom):
        return "-"
    return f"{headroom:.2g}" if headroom < 10 else count_text(headroom)


def _seconds(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s")):
        if seconds >= (2 * size if size > 1 else size):
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1000:.3g} ms"


def _percent(part: float | None) -> str:
    return "-" if part is None else f"{part:+.1%}"


def _remedy(limit: Limit) -> list[str]:
    return textwrap.wrap(
        f"{limit.name} ({limit.source}): {limit.remedy}.",
        _COLUMNS,
        initial_indent="- ",
        subsequent_indent="  ",
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _COLUMNS)
