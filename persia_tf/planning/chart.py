"""Draws a line chart, as SVG."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from persia_tf.base.svg import Picture

Point = tuple[float, float]

# The size of a picture, and the place of its plot in it, in pixels.
_WIDTH, _HEIGHT = 480, 300
_LEFT, _RIGHT, _TOP, _FOOT = 72, 456, 52, 246
_TICKS = 4


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Attributes:
        title: What it shows, with the unit.
        text: Returns the text of a number at a tick.
        is_logarithmic: Whether equal distances are equal ratios, not differences.
        ticks: The numbers that it names; None for evenly spaced ones.
    """

    title: str
    text: Callable[[float], str]
    is_logarithmic: bool = False
    ticks: Sequence[float] | None = None


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a chart.

    Attributes:
        points: Its points, with x rising.
        colour: A colour of `Picture`.
        dots: Whether its points are marked.
        dashed: Whether it is dashed.
    """

    points: Sequence[Point]
    colour: str = "blue"
    dots: bool = False
    dashed: bool = False


def chart(
    title: str,
    x_axis: Axis,
    y_axis: Axis,
    lines: Sequence[Line],
    band: Sequence[tuple[float, float, float]] = (),
    top: float | None = None,
) -> str:
    """Draws lines over two axes.

    The y axis is linear and begins at 0.

    Args:
        title: The chart's title.
        x_axis: The horizontal axis.
        y_axis: The vertical axis.
        lines: The lines, the last one on top.
        band: An interval that is shaded behind the lines: for each x, its two ends.
        top: The upper end of the y axis. Defaults to None: a little above all points.

    Returns:
        The SVG.
    """
    points = [point for line in lines for point in line.points]
    points += [(x, end) for x, *ends in band for end in ends]
    across = _scale([x for x, _ in points], _LEFT, _RIGHT, x_axis.is_logarithmic)
    highest = top or 1.05 * max((y for _, y in points), default=0.0) or 1.0

    def place(point: Point) -> Point:
        return across(point[0]), _FOOT - (_FOOT - _TOP) * point[1] / highest

    picture = Picture(_WIDTH, _HEIGHT, title)
    picture.text(_WIDTH / 2, 26, title, bold=True)
    if band:
        edge = [(x, high) for x, _, high in band]
        edge += [(x, low) for x, low, _ in reversed(band)]
        picture.area(map(place, edge), "pale-blue")
    _draw_axes(picture, x_axis, y_axis, [x for x, _ in points], highest, place)
    for line in lines:
        placed = [place(point) for point in line.points]
        picture.line(placed, line.colour, width=2, dashed=line.dashed)
        for x, y in placed if line.dots else ():
            picture.dot(x, y, line.colour, radius=3)
    return str(picture)


def _scale(
    values: Sequence[float], begin: float, end: float, is_logarithmic: bool
) -> Callable[[float], float]:
    """Returns a function from the values' range to that from `begin` to `end`."""
    measure = math.log if is_logarithmic else float
    least = measure(min(values)) if is_logarithmic else 0.0
    size = measure(max(values)) - least
    return lambda value: (
        begin + (end - begin) * ((measure(value) - least) / size if size else 0.5)
    )


def _draw_axes(
    picture: Picture,
    x_axis: Axis,
    y_axis: Axis,
    xs: Sequence[float],
    highest: float,
    place: Callable[[Point], Point],
) -> None:
    for part in range(_TICKS + 1):
        value = highest * part / _TICKS
        _, y = place((xs[0], value))
        picture.line([(_LEFT, y), (_RIGHT, y)], "frame")
        picture.text(
            _LEFT - 8, y + 4, y_axis.text(value), "quiet", size=11, anchor="end"
        )
    for value in x_axis.ticks or _ticks(xs, x_axis.is_logarithmic):
        x, _ = place((value, 0))
        picture.line([(x, _FOOT), (x, _FOOT + 5)], "quiet")
        picture.text(x, _FOOT + 19, x_axis.text(value), "quiet", size=11)
    picture.line([(_LEFT, _FOOT), (_RIGHT, _FOOT)], "quiet")
    picture.text((_LEFT + _RIGHT) / 2, _HEIGHT - 14, x_axis.title, size=12)
    picture.text(12, _TOP - 10, y_axis.title, "quiet", size=11, anchor="start")


def _ticks(values: Sequence[float], is_logarithmic: bool) -> list[float]:
    least, most = min(values), max(values)
    if not is_logarithmic:
        return [most * part / _TICKS for part in range(_TICKS + 1)]
    if least == most:
        return [most]
    ratio = (most / least) ** (1 / _TICKS)
    return [least * ratio**part for part in range(_TICKS + 1)]
