"""Draws a sensitivity: a bar for each assumption, the largest on top."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf.base.svg import Picture
from persia_tf.simulation.sensitivity import Change

# Places in the picture, in pixels.
_WIDTH, _LEFT, _RIGHT = 720, 240, 660
_TOP, _ROW, _BAR = 70, 26, 16
_HALVED, _DOUBLED = "orange", "blue"
_LEAST_SCALE = 0.01


def tornado(title: str, changes: Sequence[Change]) -> str:
    """Draws the change of the throughput with half and with twice of assumptions.

    Args:
        title: The plot's title.
        changes: The changes, the largest first.

    Returns:
        The SVG.
    """
    height = _TOP + _ROW * len(changes) + 46
    picture = Picture(_WIDTH, height, title)
    picture.text(_WIDTH / 2, 26, title, bold=True)
    picture.text(_LEFT, 50, "half", _HALVED, size=12, anchor="start")
    picture.text(_LEFT + 44, 50, "double", _DOUBLED, size=12, anchor="start")
    parts = [0.0]
    for change in changes:
        parts += [part for part in (change.halved, change.doubled) if part is not None]
    least, most = min(parts), max(*parts, min(parts) + _LEAST_SCALE)

    def place(part: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (part - least) / (most - least)

    foot = _TOP + _ROW * len(changes)
    for part in sorted({least, 0.0, most}):
        picture.line([(place(part), _TOP - 8), (place(part), foot)], "frame")
    for row, change in enumerate(changes):
        y = _TOP + _ROW * row
        picture.text(_LEFT - 10, y + 12, change.name, size=12, anchor="end")
        for part, colour in ((change.halved, _HALVED), (change.doubled, _DOUBLED)):
            if part is not None:
                begin, end = sorted((place(0.0), place(part)))
                picture.box(begin, y, end - begin, _BAR, colour, colour, radius=0)
    for part in sorted({least, 0.0, most}):
        picture.text(place(part), foot + 18, f"{part:+.0%}", "quiet", size=11)
    middle = (_LEFT + _RIGHT) / 2
    picture.text(middle, height - 10, "change of examples per second", size=12)
    return str(picture)
