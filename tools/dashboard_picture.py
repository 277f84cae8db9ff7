"""Draws the panels of the dashboard from the data of a Prometheus server.

    python tools/dashboard_picture.py http://127.0.0.1:9090 --minutes 5

The picture, docs/pictures/dashboard.svg, shows a measured run, so unlike other pictures
it is not drawn again by tools/draw_pictures.py. Panels without data are left out.
"""

from __future__ import annotations

import argparse
import math
import re
import textwrap
import time
from collections.abc import Callable, Iterable, Sequence

from dashboard_panels import ROWS, Panel
from draw_pictures import MEASURED, PICTURES
from prometheus_api import Prometheus, Series

from persia_tf.base.svg import Picture

_WIDTH, _MARGIN, _GAP = 1140, 16, 12
_COLUMNS, _STATS = 3, 4
_PLOT, _STAT = 190, 64
_POINTS = 60
# Lines of a panel that are drawn, and letters of a legend; the lines with the highest
# values are drawn, and the others counted.
_MOST_LINES, _MOST_LETTERS = 6, 26
_STYLES = [
    (colour, dashed)
    for dashed in (False, True)
    for colour in ("blue", "orange", "green")
]

# Factors and endings of a unit's values, in ascending order.
_SCALES = {
    "s": ((1e-6, " µs"), (1e-3, " ms"), (1, " s"), (60, " min"), (3600, " h")),
    "bytes": ((1, " B"), (2**10, " KiB"), (2**20, " MiB"), (2**30, " GiB")),
    "Bps": ((1, " B/s"), (1e3, " kB/s"), (1e6, " MB/s"), (1e9, " GB/s")),
    "percentunit": ((0.01, " %"),),
}
_PLAIN = ((1, ""), (1e3, " k"), (1e6, " M"), (1e9, " G"))
_PER_SECOND = {"reqps", "ops", "rowsps", "cps"}

# A legend, and the points of its line.
Line = tuple[str, list[tuple[float, float]]]


def draw(read: Callable[[Panel], list[Line]], start: float, end: float) -> str:
    """Returns the picture as SVG.

    Args:
        read: A function that returns the lines of a panel, between the two times.
        start: The Unix time at the left of each plot, in seconds.
        end: The Unix time at the right.
    """
    rows = {
        title: [(p, lines) for p in panels if (lines := read(p))]
        for title, panels in ROWS.items()
    }
    rows = {title: panels for title, panels in rows.items() if panels}
    height = _MARGIN + sum(map(_row_height, rows.values()))
    picture = Picture(_WIDTH, height, "The dashboard's panels, of a measured run")
    y = _MARGIN
    for title, panels in rows.items():
        picture.text(_MARGIN, y + 16, title, size=15, bold=True, anchor="start")
        top = y + 26
        for x, offset, width, (panel, lines) in _places(panels):
            if panel.kind == "stat":
                _draw_stat(picture, x, top + offset, width, panel, lines)
            else:
                _draw_plot(picture, x, top + offset, width, panel, lines, start, end)
        y += _row_height(panels)
    return str(picture)


def read_from(
    prometheus: Prometheus, start: float, end: float
) -> Callable[[Panel], list[Line]]:
    """Returns a function that reads a panel's lines from a Prometheus server."""

    def read(panel: Panel) -> list[Line]:
        return [
            (_legend(legend, series), points)
            for legend, query in panel.queries.items()
            for series in prometheus.query_range(
                query, start, end, (end - start) / _POINTS
            )
            if (points := [p for p in series.points if math.isfinite(p[1])])
        ]

    return read


def _legend(legend: str, series: Series) -> str:
    return re.sub(
        r"\{\{(\w+)\}\}", lambda label: series.labels.get(label[1], ""), legend
    ).strip()


def _row_height(panels: Sequence[tuple[Panel, list[Line]]]) -> float:
    *_, (_, offset, _, (panel, _)) = _places(panels)
    return 26 + offset + _panel_height(panel) + _GAP


def _panel_height(panel: Panel) -> float:
    return _STAT if panel.kind == "stat" else _PLOT


def _places(
    panels: Sequence[tuple[Panel, list[Line]]],
) -> Iterable[tuple[float, float, float, tuple[Panel, list[Line]]]]:
    """Yields each panel with its x, its y in the row, and its width."""
    column = y = height = 0.0
    for panel, lines in panels:
        columns = _STATS if panel.kind == "stat" else _COLUMNS
        width = (_WIDTH - 2 * _MARGIN - _GAP * (columns - 1)) / columns
        if column + width > _WIDTH - 2 * _MARGIN + 1:
            column, y = 0.0, y + height + _GAP
        height = _panel_height(panel)
        yield _MARGIN + column, y, width, (panel, lines)
        column += width + _GAP


def _draw_stat(
    picture: Picture, x: float, y: float, width: float, panel: Panel, lines: list[Line]
) -> None:
    newest = lines[0][1][-1][1]
    picture.box(x, y, width, _STAT)
    picture.text(x + 12, y + 20, panel.title, "quiet", size=12, anchor="start")
    picture.text(
        x + 12, y + 48, _written(newest, panel.unit), size=22, bold=True, anchor="start"
    )


def _draw_plot(
    picture: Picture,
    x: float,
    y: float,
    width: float,
    panel: Panel,
    lines: list[Line],
    start: float,
    end: float,
) -> None:
    shown = sorted(lines, key=_highest, reverse=True)[:_MOST_LINES]
    left, right = x + 66, x + width - 14
    legend_rows = math.ceil(len(shown) / 2)
    top, foot = y + 34, y + _PLOT - 22 - 14 * legend_rows
    most = _round_up(max(map(_highest, lines)))
    picture.box(x, y, width, _PLOT)
    picture.text(x + 12, y + 20, panel.title, size=12, bold=True, anchor="start")
    for share in (0, 0.5, 1):
        height = foot - share * (foot - top)
        picture.line([(left, height), (right, height)], "frame")
        text = _written(share * most, panel.unit)
        picture.text(left - 6, height + 4, text, "quiet", size=10, anchor="end")
    picture.text(left, foot + 13, "0", "quiet", size=10)
    minutes = f"{(end - start) / 60:.1f} min"
    picture.text(right, foot + 13, minutes, "quiet", size=10, anchor="end")
    for number, ((legend, points), (colour, dashed)) in enumerate(zip(shown, _STYLES)):
        path = [
            (
                round(left + (moment - start) / (end - start) * (right - left), 1),
                round(foot - value / most * (foot - top), 1),
            )
            for moment, value in points
        ]
        picture.line(path, colour, width=1.5, dashed=dashed)
        at = x + 12 + number % 2 * (width / 2 - 8)
        below = foot + 27 + 14 * (number // 2)
        picture.line(
            [(at, below - 4), (at + 14, below - 4)], colour, width=2, dashed=dashed
        )
        text = textwrap.shorten(legend, _MOST_LETTERS, placeholder="...")
        picture.text(at + 19, below, text, size=10, anchor="start")
    if len(lines) > len(shown):
        more = f"and {len(lines) - len(shown)} more"
        picture.text(x + width - 12, y + 20, more, "quiet", size=10, anchor="end")


def _highest(line: Line) -> float:
    _, points = line
    return max(value for _, value in points)


def _round_up(value: float) -> float:
    """Returns the next number that an axis may end with; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(f * power for f in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if f * power >= value)


def _written(value: float, unit: str) -> str:
    """Returns a value with its unit, in at most three digits."""
    scales = _SCALES.get(unit, _PLAIN)
    fitting = (scale for scale in reversed(scales) if abs(value) >= scale[0])
    factor, ending = next(fitting, scales[0])
    if unit in _PER_SECOND:
        ending += "/s"
    return f"{value / factor:.3g}{ending}" if value else "0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("url", help="the Prometheus server")
    parser.add_argument("--minutes", type=float, default=5, help="until the end (5)")
    parser.add_argument("--end", type=float, help="the end, in Unix time (now)")
    parser.add_argument(
        "--rate-interval", default="20s", help="four times the scrape interval (20s)"
    )
    args = parser.parse_args()
    end = args.end or time.time()
    start = end - 60 * args.minutes
    prometheus = Prometheus(args.url, args.rate_interval)
    text = draw(read_from(prometheus, start, end), start, end)
    (PICTURES / MEASURED).write_text(text)


if __name__ == "__main__":
    main()
