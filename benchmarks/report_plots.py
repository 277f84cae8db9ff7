"""The plots of report.py, of the figures of its parts.

Each function returns pictures as SVG, by what they show.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import report_tables
import staleness_report
from simulate_check import IN_FLIGHT_OF_TRAINING

from persia_tf.base.amounts import count_text
from persia_tf.base.chart import Axis, Frame, Line, chart, draw_chart
from persia_tf.base.svg import Picture

sys.path.insert(0, str(Path(__file__).absolute().parents[1] / "tools"))

import plots

Plots = dict[str, str]

# The panels of the simulator's plot: the work, how many in flight, the figure.
_PANELS = {
    "training steps per second": ("train", IN_FLIGHT_OF_TRAINING, "per second"),
    "lookups per second": ("lookup", 1, "per second"),
    "updates per second": ("update", 1, "per second"),
    "99th percentile of lookups, ms": ("lookup", 1, "p99 ms"),
}
_COLOURS = {None: "blue", 10.0: "orange"}
_WIDTH, _HEIGHT = 760, 620
_TOP, _LEFT, _PANEL_WIDTH, _PANEL_HEIGHT = 110, 80, 210, 180
_COLUMN, _ROW = 360, 270


def throughput(figures: Mapping[str, float]) -> Plots:
    """Draws training beside that of tf_keras, and with distant shards."""
    return {
        "Samples a second, over tf_keras": plots.bars(
            "Samples a second, over tf_keras with its own tables (more is better)",
            {
                "rows in the program": figures["embedded_over_tf_keras"],
                "rows in two shards": figures["remote_over_tf_keras"],
                "tf_keras, Embedding": 1.0,
            },
            others=("tf_keras, Embedding",),
        ),
        "Training speed with distant shards": plots.distance(
            figures["hybrid_hides_10ms"], figures["hybrid_over_sync_10ms"]
        ),
    }


def peers(figures: Mapping[str, Any]) -> Plots:
    """Draws the samples per second of each library that has figures."""
    over = {
        side["title"]: side["over_persia"]
        for side in figures.values()
        if "over_persia" in side
    }
    if not over:
        return {}
    ours = figures["persia"]["title"]
    title = "Samples a second, over persia_tf (more is better)"
    return {title: plots.bars(title, over, others=set(over) - {ours})}


def workers(figures: Mapping[str, float]) -> Plots:
    """Draws the speed of two workers beside that of one."""
    both = figures["two_workers_over_one"]
    title = "Samples a second, over one worker"
    return {title: plots.bars(title, {"one worker": 1.0, "two workers": both})}


def shards(figures: Mapping[str, Any]) -> Plots:
    """Draws what a step costs by the number of shards."""
    points = [(each["shards"], each["ms_per_step"]) for each in figures["shards"]]
    numbers = [number for number, _ in points]
    title = "What a step costs, by the number of shards"
    x_axis = Axis("shards", count_text, is_logarithmic=True, ticks=numbers)
    y_axis = Axis("ms per step", "{:.3g}".format)
    return {title: chart(title, x_axis, y_axis, [Line(points, dots=True)])}


def staleness(figures: Mapping[str, Any]) -> Plots:
    """Draws what staleness costs; nothing if no cost is significant."""
    if not figures["fits"]:
        return {}
    title = "What staleness costs, by what is predicted"
    return {title: staleness_report.plot(figures)}


def simulator(figures: Mapping[str, Any]) -> Plots:
    """Draws what was simulated beside what was measured, by the number of shards."""
    title = "Simulated and measured, by the number of shards"
    picture = Picture(_WIDTH, _HEIGHT, title)
    picture.text(20, 30, title, size=14, bold=True, anchor="start")
    legend = "Lines with dots are measured, dashed ones are simulated."
    picture.text(20, 52, legend, "quiet", size=12, anchor="start")
    for number, (name, panel) in enumerate(_PANELS.items()):
        left, top = _LEFT + _COLUMN * (number % 2), _TOP + _ROW * (number // 2)
        frame = Frame(left, left + _PANEL_WIDTH, top, top + _PANEL_HEIGHT)
        lines = [
            line
            for delay, colour in _COLOURS.items()
            for line in _lines(figures["compared"], (*panel, delay), colour)
        ]
        if lines:
            ticks = sorted({x for line in lines for x, _ in line.points})
            x_axis = Axis("shards", count_text, is_logarithmic=True, ticks=ticks)
            draw_chart(picture, frame, x_axis, Axis(name, "{:.3g}".format), lines)
    return {title: str(picture)}


def _lines(
    compared: Sequence[Mapping[str, Any]], key: tuple[Any, ...], colour: str
) -> list[Line]:
    """Returns what was simulated and measured of one kind of work and one delay."""
    found = [each for each in compared if _key(each) == key]
    if not found:
        return []
    simulated, measured = (
        [(each["case"]["shards"], each[side]) for each in found]
        for side in ("simulated", "measured")
    )
    label = report_tables.delay_name(key[-1])
    return [
        Line(simulated, colour, dashed=True),
        Line(measured, colour, dots=True, label=label),
    ]


def _key(compared: Mapping[str, Any]) -> tuple[Any, ...]:
    case = compared["case"]
    return case["kind"], case["in_flight"], compared["figure"], case["delay_ms"]
