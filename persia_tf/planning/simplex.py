"""Minimizes a function of a few numbers without its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_REFLECTION, _EXPANSION, _CONTRACTION, _SHRINKAGE = 1.0, 2.0, 0.5, 0.5


def minimize(
    function: Callable[[np.ndarray], float],
    start: Sequence[float],
    steps: Sequence[float],
    evaluations: int = 300,
    tolerance: float = 1e-7,
) -> np.ndarray:
    """Returns a local minimum, by the simplex method of Nelder and Mead (1965).

    Args:
        function: The function; it may return an infinity outside of its domain.
        start: Where the search begins; the function must be finite there.
        steps: The sides of the first simplex, one per number.
        evaluations: At most about how many calls of the function are made.
        tolerance: The search ends once the values at all corners differ by less.

    Returns:
        The best point found.
    """
    corners = [np.asarray(start, float)]
    for axis, step in enumerate(steps):
        corner = corners[0].copy()
        corner[axis] += step
        corners.append(corner)
    values = [function(corner) for corner in corners]
    left = evaluations - len(corners)
    while left > 0:
        order = np.argsort(values, kind="stable")
        corners = [corners[i] for i in order]
        values = [values[i] for i in order]
        if values[-1] - values[0] < tolerance:
            break
        middle = np.mean(corners[:-1], axis=0)
        away = middle - corners[-1]
        point = middle + _REFLECTION * away
        value = function(point)
        left -= 1
        if value < values[0]:
            further = middle + _EXPANSION * away
            further_value = function(further)
            left -= 1
            if further_value < value:
                point, value = further, further_value
        elif value >= values[-2]:
            inward = _CONTRACTION if value < values[-1] else -_CONTRACTION
            point = middle + inward * away
            limit = min(value, values[-1])
            value = function(point)
            left -= 1
            if value > limit:
                for i in range(1, len(corners)):
                    corners[i] = corners[0] + _SHRINKAGE * (corners[i] - corners[0])
                    values[i] = function(corners[i])
                left -= len(corners) - 1
                continue
        corners[-1], values[-1] = point, value
    return corners[int(np.argmin(values))]
