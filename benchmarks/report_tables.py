"""The tables of report.py, of the figures of its parts."""

from __future__ import annotations

import dataclasses
import statistics
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from accuracy_training import MODES
from staleness_report import names_of

from persia_tf.simulation.limit import Limit
from persia_tf.simulation.text import rows_of_limits

Table = list[Sequence[str]]  # Its header, and its rows.

# Limits with more headroom are not shown.
_MUCH_HEADROOM = 10.0

PLANNED = {
    "rows": "rows of a table",
    "all_rows": "rows of all tables",
    "memory": "memory of all tables",
    "sent": "bytes sent in a step",
    "received": "bytes received in a step",
    "requests": "requests of a step",
    "busy_rows": "rows of the busiest shard, over the mean",
    "busy_ids": "ids of the busiest shard, over the mean",
    "busy_bytes": "bytes of the busiest shard, over the mean",
    "checkpoint": "bytes of a checkpoint",
    "step": "time of a step, with a staleness of 0",
}

SIMULATED_KINDS = {"lookup": "lookups", "update": "updates", "train": "training steps"}


def accuracy_table(figures: Mapping[str, Any]) -> Table:
    """Returns a row for each data set and kind of training."""
    rows: Table = [("data", "training", "test AUC", "less synchronous", "seeds")]
    for data_set, modes in figures.items():
        for mode, found in modes.items():
            aucs = found["auc_of_each_seed"]
            less = "" if mode == "sync" else f"{found['minus_sync']:+.4f}"
            title = MODES[mode].title
            rows.append((data_set, title, _with_deviation(aucs), less, str(len(aucs))))
    return rows


def named_figures(names: Mapping[str, str]) -> Callable[[Mapping[str, Any]], Table]:
    """Returns a function that makes a table of some figures.

    Args:
        names: For each figure, in the order of the table, what it is.
    """

    def table(figures: Mapping[str, Any]) -> Table:
        shown = ((what, figures[name]) for name, what in names.items())
        return [
            ("figure", "here"),
            *((what, f"{float(value):.3g}") for what, value in shown),
        ]

    return table


def shards_table(figures: Mapping[str, Any]) -> Table:
    """Returns what a step costs with each number of shards."""
    points = figures["shards"]
    rows: Table = [("shards", "ms per step", "over the first", "MB per step")]
    for point in points:
        traffic = point["bytes_out_per_step"] + point["bytes_in_per_step"]
        rows.append(
            (
                str(point["shards"]),
                f"{point['ms_per_step']:.1f}",
                f"{point['ms_per_step'] / points[0]['ms_per_step']:.2f}",
                f"{traffic / 1e6:.2f}",
            )
        )
    return rows


def staleness_table(figures: Mapping[str, Any]) -> Table:
    """Returns what each staleness costs, with a row for each skew of ids."""
    staleness = sorted({s for group in figures["groups"] for s in _costs(group)})
    late = (f"{steps} step{'' if steps == 1 else 's'}" for steps in staleness)
    header = ("data", "skew", "row optimizer", *late)
    rows: Table = [header]
    for group in figures["groups"]:
        costs = _costs(group)
        rows.append((*names_of(group), *(costs.get(steps, "") for steps in staleness)))
    return rows


def peers_table(figures: Mapping[str, Any]) -> Table:
    """Returns a row for each library: its speed and memory, or why there are none."""
    measured = ("samples/s over ours", "CPU µs a sample", "peak memory, GB")
    rows: Table = [("library", *measured, "versions")]
    for of_side in figures.values():
        if "reason" in of_side:
            # A row of a table is one line, whose cells are between bars.
            reason = " ".join(of_side["reason"].split()).replace("|", "/")
            why = f"could not be shown here: {reason}"
            rows.append((of_side["title"], why, "", "", ""))
            continue
        over = of_side.get("over_persia")
        versions = of_side["versions"].items()
        rows.append(
            (
                of_side["title"],
                "" if over is None else f"{over:.2f}",
                f"{of_side['cpu_us_per_sample']:.1f}",
                f"{of_side['peak_memory_mb'] / 1024:.1f}",
                ", ".join(" ".join(version) for version in versions),
            )
        )
    return rows


def planner_table(figures: Mapping[str, Any]) -> Table:
    """Returns how far plans were off, with a row for each figure of a plan."""
    rows: Table = [("figure of a plan", "off at most", "in set-up", "median")]
    for name, what in PLANNED.items():
        error = figures[name]
        worst, median = f"{error['worst']:.1%}", f"{error['median']:.1%}"
        rows.append((what, worst, error["of"], median))
    return rows


def simulator_table(figures: Mapping[str, Any]) -> Table:
    """Returns what was simulated and measured, with a column for each shards."""
    cells: dict[tuple[str, ...], dict[int, str]] = {}
    for each in figures["compared"]:
        case, measured, simulated = each["case"], each["measured"], each["simulated"]
        key = (
            SIMULATED_KINDS[case["kind"]],
            delay_name(case["delay_ms"]),
            str(case["in_flight"]),
            each["figure"],
        )
        error = f"{simulated / measured - 1:+.0%}"
        text = f"{simulated:.3g} / {measured:.3g} ({error})"
        cells.setdefault(key, {})[case["shards"]] = text
    shards = sorted({number for of_key in cells.values() for number in of_key})
    columns = [f"{number} shard{'s' * (number > 1)}" for number in shards]
    return [
        ("what", "shards are", "in flight", "figure", *columns),
        *(
            (*key, *(of_key.get(number, "") for number in shards))
            for key, of_key in cells.items()
        ),
    ]


def limits_table(figures: Mapping[str, Any]) -> Table:
    """Returns what breaks first, of the output of `persia simulate --json -`."""
    names = [each.name for each in dataclasses.fields(Limit)]
    limits = [
        Limit(**{name: limit[name] for name in names})
        for limit in figures["limits"]
        if limit["headroom"] is not None and limit["headroom"] < _MUCH_HEADROOM
    ]
    return rows_of_limits(types.SimpleNamespace(limits=limits))


def delay_name(delay_ms: float | None) -> str:
    """Returns how far away shards are."""
    return "at hand" if delay_ms is None else f"{delay_ms:g} ms away"


def _costs(group: Mapping[str, Any]) -> dict[int, str]:
    return {
        cost["staleness"]: f"{1000 * cost['loss']['mean']:+.2f}"
        for cost in group["costs"]
    }


def _with_deviation(values: Sequence[float]) -> str:
    mean = f"{statistics.mean(values):.4f}"
    return mean if len(values) < 2 else f"{mean} ± {statistics.stdev(values):.4f}"
