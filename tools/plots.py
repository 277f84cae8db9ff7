"""Plots of the figures in docs/benchmarks.md and benchmarks/RESULTS.md.

They are drawn from the tables in these pages, so that plots and tables always agree.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path

from persia_tf.base.svg import Picture

# Not resolved: a sandbox accesses the sources through symbolic links.
_ROOT = Path(os.path.abspath(__file__)).parents[1]
_PAGE = _ROOT / "docs" / "benchmarks.md"
_RESULTS = _ROOT / "benchmarks" / "RESULTS.md"
_WIDTH = 760
_LETTER = 7  # The mean width of a letter of a bar's name.
_NAMES = {
    "persia-embedded": "rows in the program",
    "persia-remote": "rows in two shards",
    "tf_keras": "tf_keras, Embedding",
    "keras3": "Keras 3, Embedding",
}
_ROW_DTYPES = ("float32", "float16", "int8")


def draw() -> dict[str, str]:
    """Returns the plots as SVG, by the names of their files."""
    return {
        "throughput.svg": _throughput(),
        "distance.svg": _distance(),
        "step_cost.svg": _step_cost(),
        "serving.svg": _serving(),
    }


def _throughput() -> str:
    rows = _table(_PAGE, "Training the click model")
    figures = {
        _NAMES[re.match("`(.*?)`", row["embedding"])[1]]: float(
            row["samples/s over tf_keras's"]
        )
        for row in rows
    }
    return bars(
        "Samples a second, over tf_keras with its own tables (more is better)",
        figures,
        others=(_NAMES["tf_keras"], _NAMES["keras3"]),
    )


def _distance() -> str:
    figures = {
        row["figure"].strip("`"): float(row["here"])
        for row in _table(_PAGE, "Hybrid training")
    }
    return distance(figures["hybrid_hides_10ms"], figures["hybrid_over_sync_10ms"])


def distance(hybrid: float, hybrid_over_synchronous: float) -> str:
    """Draws the speed of training with distant shards.

    Args:
        hybrid: Hybrid training with distant shards, over that with shards at hand.
        hybrid_over_synchronous: Hybrid training over synchronous training, both with
            distant shards.
    """
    return bars(
        "Training speed, over hybrid training with the shards at hand",
        {
            "hybrid, at hand": 1.0,
            "hybrid, 10 ms away": hybrid,
            "synchronous, 10 ms away": hybrid / hybrid_over_synchronous,
        },
    )


def _serving() -> str:
    rows = _table(_RESULTS, "Serving without shards")
    over = {row["rows"]: float(row["p50 over Keras's"]) for row in rows}
    figures = {"Keras's Embedding": over.pop("keras")}
    figures.update((f"export, {dtype}", over[dtype]) for dtype in _ROW_DTYPES)
    return bars(
        "Median time of a request, over Keras's own (less is better)",
        figures,
        others=("Keras's Embedding",),
    )


def bars(title: str, figures: Mapping[str, float], others: Container[str] = ()) -> str:
    """Draws a bar for each figure, with the figure written at the bar's end.

    Args:
        title: The picture's title.
        figures: The figures by what they are of.
        others: What is not of this library; its bars are grey.
    """
    row, right = 34, _WIDTH - 70
    left = max(220, 32 + _LETTER * max(map(len, figures)))
    picture = Picture(_WIDTH, 64 + row * len(figures), title)
    picture.text(20, 30, title, size=14, bold=True, anchor="start")
    scale = (right - left) / max(figures.values())
    for number, (name, figure) in enumerate(figures.items()):
        y = 52 + row * number
        fill = ("pale", "quiet") if name in others else ("pale-blue", "blue")
        picture.text(left - 12, y + 17, name, anchor="end")
        picture.box(left, y, max(2, figure * scale), 24, *fill, radius=3)
        figure_at = left + figure * scale + 8
        picture.text(figure_at, y + 17, f"{figure:.2g}", anchor="start", bold=True)
    if max(figures.values()) > 1:
        foot = 52 + row * len(figures)
        picture.line([(left + scale, 46), (left + scale, foot)], "quiet", dashed=True)
    return str(picture)


def _step_cost() -> str:
    title = "Milliseconds a step"
    rows = _table(_RESULTS, "Cost of a step")
    picture = Picture(_WIDTH, 300, "What a step costs, by examples, tables and shards")
    panels = (
        ("batch", "batch", "examples a step (26 tables)"),
        ("tables, same ids", "tables", "tables for 200 columns"),
        ("shards", "shards", "shards on the trainer's machine"),
    )
    picture.text(20, 30, title, size=14, bold=True, anchor="start")
    for number, (varied, by, label) in enumerate(panels):
        points = [
            (row[by], float(row["ms a step"]))
            for row in rows
            if row["varied"] == varied
        ]
        _columns(picture, 56 + 238 * number, 196, label, points)
    return str(picture)


def _columns(
    picture: Picture,
    left: float,
    width: float,
    label: str,
    points: Sequence[tuple[str, float]],
) -> None:
    top, foot = 66, 244
    place = width / len(points)
    scale = (foot - top) / max(figure for _, figure in points)
    picture.line([(left, foot), (left + width, foot)], "quiet")
    for number, (name, figure) in enumerate(points):
        middle = left + place * (number + 0.5)
        height = figure * scale
        wide = min(40, place - 6)
        picture.box(
            middle - wide / 2,
            foot - height,
            wide,
            height,
            "pale-blue",
            "blue",
            radius=3,
        )
        picture.text(middle, foot - height - 6, f"{figure:.0f}", size=12, bold=True)
        short = f"{int(name) // 1024} k" if int(name) >= 1024 else name
        picture.text(middle, foot + 17, short, "quiet", size=12)
    picture.text(left + width / 2, foot + 38, label, size=12)


def _table(page: Path, heading: str) -> list[dict[str, str]]:
    """Reads the first table below a heading of a page."""
    section = page.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    below = itertools.dropwhile(
        lambda line: not _is_of_table(line), section.split("\n")
    )
    lines = list(itertools.takewhile(_is_of_table, below))
    if not lines:
        raise ValueError(f"{page} has no table below '## {heading}'")
    columns = _cells(lines[0])
    return [dict(zip(columns, _cells(line))) for line in lines[2:]]


def _is_of_table(line: str) -> bool:
    return line.startswith("|")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
