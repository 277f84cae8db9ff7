"""Finds the number from which on something is so."""

from __future__ import annotations

from collections.abc import Callable

_BISECTIONS = 12


def bisected(least: float, most: float, is_too_low: Callable[[float], bool]) -> float:
    """Returns about the number from which on numbers are not too low any more.

    Args:
        least: The least number that it may be.
        most: The greatest one.
        is_too_low: Whether a number is too low.
    """
    for _ in range(_BISECTIONS):
        middle = (least + most) / 2
        if is_too_low(middle):
            least = middle
        else:
            most = middle
    return middle
