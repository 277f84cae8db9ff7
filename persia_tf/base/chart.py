"""Draws line charts, as SVG."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

from persia_tf.base.svg import Picture

Point = tuple[float, float]

# The size of a picture of one chart, in pixels.
_WIDTH, _HEIGHT = 480, 300
# About how many steps a plain axis has, and exactly how many a logarithmic one has.
_STEPS, _TICKS = 5, 4
_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
# The least distance of two labels of lines.
_LABEL_GAP = 13


@dataclasses.dataclass(frozen=True)
class Frame:
    """The place of a chart's plot in a picture, in pixels.

    Numbers and titles of axes are outside of it.
    """

    left: float
    right: float
    top: float
    foot: float


_FRAME = Frame(72, 456, 52, 246)


@dataclasses.dataclass(frozen=True)
class Axis:
    """An axis of a chart.

    Attributes:
        title: What it shows, with the unit.
        text: Returns the text of a number at a tick.
        is_logarithmic: Whether equal distances are equal ratios, not differences; else
            the axis begins at 0.
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
        label: What is written at its end.
    """

    points: Sequence[Point]
    colour: str = "blue"
    dots: bool = False
    dashed: bool = False
    label: str = ""


def chart(
    title: str,
    x_axis: Axis,
    y_axis: Axis,
    lines: Sequence[Line],
    band: Sequence[tuple[float, float, float]] = (),
    top: float | None = None,
) -> str:
    """Draws a picture of one chart.

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
    picture = Picture(_WIDTH, _HEIGHT, title)
    picture.text(_WIDTH / 2, 26, title, bold=True)
    draw_chart(picture, _FRAME, x_axis, y_axis, lines, band, top)
    return str(picture)


def draw_chart(
    picture: Picture,
    frame: Frame,
    x_axis: Axis,
    y_axis: Axis,
    lines: Sequence[Line],
    band: Sequence[tuple[float, float, float]] = (),
    top: float | None = None,
) -> None:
    """Draws lines over two axes, as a part of a picture.

    Args:
        picture: The picture.
        frame: The chart's place.
        x_axis: See `chart`.
        y_axis: See `chart`.
        lines: See `chart`.
        band: See `chart`.
        top: See `chart`.
    """
    points = [point for line in lines for point in line.points]
    points += [(x, end) for x, *ends in band for end in ends]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if not y_axis.is_logarithmic:
        ys = [0.0, top or 1.05 * max(ys, default=0.0) or 1.0]
    across = _scale(xs, frame.left, frame.right, x_axis.is_logarithmic)
    up = _scale(ys, frame.foot, frame.top, y_axis.is_logarithmic)

    def place(point: Point) -> Point:
        return across(point[0]), up(point[1])

    if band:
        edge = [(x, high) for x, _, high in band]
        edge += [(x, low) for x, low, _ in reversed(band)]
        picture.area(map(place, edge), "pale-blue")
    for value in y_axis.ticks or _ticks(ys, y_axis.is_logarithmic):
        _draw_height(picture, frame, up(value), y_axis.text(value))
    for value in x_axis.ticks or _ticks(xs, x_axis.is_logarithmic):
        _draw_tick(picture, frame, across(value), x_axis.text(value))
    _draw_titles(picture, frame, x_axis, y_axis)
    for line in lines:
        placed = [place(point) for point in line.points]
        picture.line(placed, line.colour, width=2, dashed=line.dashed)
        for x, y in placed if line.dots else ():
            picture.dot(x, y, line.colour, radius=3)
    _draw_labels(picture, lines, place)


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


def _draw_height(picture: Picture, frame: Frame, y: float, text: str) -> None:
    picture.line([(frame.left, y), (frame.right, y)], "frame")
    picture.text(frame.left - 8, y + 4, text, "quiet", size=11, anchor="end")


def _draw_tick(picture: Picture, frame: Frame, x: float, text: str) -> None:
    picture.line([(x, frame.foot), (x, frame.foot + 5)], "quiet")
    picture.text(x, frame.foot + 19, text, "quiet", size=11)


def _draw_titles(picture: Picture, frame: Frame, x_axis: Axis, y_axis: Axis) -> None:
    picture.line([(frame.left, frame.foot), (frame.right, frame.foot)], "quiet")
    middle = (frame.left + frame.right) / 2
    if x_axis.title:
        picture.text(middle, frame.foot + 40, x_axis.title, size=12)
    if y_axis.title:
        left, y = frame.left - 60, frame.top - 10
        picture.text(left, y, y_axis.title, "quiet", size=11, anchor="start")


def _draw_labels(
    picture: Picture, lines: Sequence[Line], place: Callable[[Point], Point]
) -> None:
    labelled = [line for line in lines if line.label and line.points]
    ends = [place(line.points[-1]) for line in labelled]
    heights = spread([y for _, y in ends])
    for line, (x, _), y in zip(labelled, ends, heights):
        picture.text(x + 8, y + 4, line.label, line.colour, size=11, anchor="start")


def spread(heights: Sequence[float], gap: float = _LABEL_GAP) -> list[float]:
    """Moves labels upwards where they would overlap, the lowest one first.

    Args:
        heights: The y of each label; it grows downwards.
        gap: The least distance of two labels.

    Returns:
        The y of each label, in the order given.
    """
    moved = list(heights)
    least = math.inf
    for index in sorted(range(len(moved)), key=moved.__getitem__, reverse=True):
        moved[index] = least = min(moved[index], least - gap)
    return moved


def _ticks(values: Sequence[float], is_logarithmic: bool) -> list[float]:
    least, most = min(values), max(values)
    if not is_logarithmic:
        step = _round_step(most / _STEPS)
        return [step * number for number in range(int(most / step + 1e-9) + 1)]
    if least == most:
        return [most]
    ratio = (most / least) ** (1 / _TICKS)
    return [least * ratio**part for part in range(_TICKS + 1)]


def _round_step(least: float) -> float:
    """Returns the first round number that is not less."""
    if not least:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * each for each in _ROUND if power * each >= least * (1 - 1e-9))
