"""Draws SVG that is legible in light and in dark mode, for pictures and plots.

A picture has its own background, and its colours follow the reader's mode. The output
is reproducible: equal drawings give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

# (light, dark) by class name, for fills and for the strokes of lines.
_COLOURS = {
    "paper": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "quiet": ("#59636e", "#9aa5b1"),
    "frame": ("#d1d9e0", "#3d444d"),
    "box": ("#f3f5f8", "#1c2230"),
    "blue": ("#0b62c4", "#58a6ff"),
    "orange": ("#b35900", "#f0a04b"),
    "green": ("#1a7f37", "#3fb950"),
    "pale-blue": ("#d6e6fb", "#14345c"),
    "pale-orange": ("#fce4cc", "#5a3510"),
    "pale-green": ("#d5f0dc", "#12401f"),
    "pale": ("#e4e8ed", "#2b323d"),
}
_FONT = '-apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif'
_MARKERS = ("blue", "orange", "quiet")


class Picture:
    """A drawing; its coordinates are pixels from the upper left corner.

    Args:
        width: The width of the picture.
        height: The height of the picture.
        title: What the picture shows, for readers who cannot see it.
    """

    def __init__(self, width: int, height: int, title: str) -> None:
        self._size = (width, height)
        self._title = title
        self._parts: list[str] = []

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "box",
        stroke: str = "frame",
        *,
        radius: float = 6,
        dashed: bool = False,
    ) -> None:
        """Draws a rectangle with rounded corners."""
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
            f'rx="{radius:g}" class="{fill} line-{stroke}"{dashes}/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        colour: str = "ink",
        *,
        size: float = 13,
        anchor: str = "middle",
        bold: bool = False,
    ) -> None:
        """Writes a line of text, whose baseline is at `y`."""
        weight = ' font-weight="600"' if bold else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y:g}" class="{colour}" font-size="{size:g}" '
            f'text-anchor="{anchor}"{weight}>{escape(words, quote=False)}</text>'
        )

    def arrow(
        self,
        points: Iterable[tuple[float, float]],
        colour: str,
        *,
        dashed: bool = False,
        both_ends: bool = False,
    ) -> None:
        """Draws a line through points, with an arrow head at its end."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = ' stroke-dasharray="6 4"' if dashed else ""
        start = f' marker-start="url(#{colour})"' if both_ends else ""
        self._parts.append(
            f'<polyline points="{path}" class="open line-{colour}" '
            f'stroke-width="2"{dashes}{start} marker-end="url(#{colour})"/>'
        )

    def line(
        self,
        points: Iterable[tuple[float, float]],
        colour: str,
        *,
        width: float = 1,
        dashed: bool = False,
    ) -> None:
        """Draws a line through points."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dashes = ' stroke-dasharray="4 4"' if dashed else ""
        self._parts.append(
            f'<polyline points="{path}" class="open line-{colour}" '
            f'stroke-width="{width:g}"{dashes}/>'
        )

    def area(self, points: Iterable[tuple[float, float]], colour: str) -> None:
        """Fills the polygon with these corners."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polygon points="{path}" class="{colour}"/>')

    def dot(self, x: float, y: float, colour: str, radius: float = 4) -> None:
        """Draws a filled circle."""
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" class="{colour}"/>'
        )

    def __str__(self) -> str:
        width, height = self._size
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} '
                f'{height}" width="{width}" height="{height}" role="img">',
                f"<title>{escape(self._title, quote=False)}</title>",
                _style(),
                "<defs>",
                *map(_arrow_head, _MARKERS),
                "</defs>",
                f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" '
                'rx="8" class="paper line-frame"/>',
                *self._parts,
                "</svg>\n",
            ]
        )


def _style() -> str:
    light, dark = (_rules(mode) for mode in (0, 1))
    return "\n".join(
        [
            "<style>",
            f"text {{ font-family: {_FONT}; }}",
            ".open { fill: none; }",
            *light,
            "@media (prefers-color-scheme: dark) {",
            *dark,
            "}",
            "</style>",
        ]
    )


def _rules(mode: int) -> list[str]:
    return [
        f".{name} {{ fill: {colours[mode]}; }} "
        f".line-{name} {{ stroke: {colours[mode]}; }}"
        for name, colours in _COLOURS.items()
    ]


def _arrow_head(colour: str) -> str:
    return (
        f'<marker id="{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        f'<path d="M0,0 L8,4 L0,8 z" class="{colour}"/></marker>'
    )
