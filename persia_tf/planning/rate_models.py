"""Families of distributions of rates, each fitted to the counts of a sample's ids."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from persia_tf.planning.rates import RateGrid
from persia_tf.planning.simplex import minimize

# Weights of a grid's rates that give the ids of a sample no chance.
_IMPOSSIBLE = 1e-300

Fit = Callable[[RateGrid, np.ndarray], np.ndarray]


def zipf_mandelbrot(grid: RateGrid, spectrum: np.ndarray) -> np.ndarray:
    """Fits a finite Zipf-Mandelbrot law.

    The number of ids with a rate of at least `x` falls as `x**-a` between a lowest and
    a highest rate (Evert, "A simple LNRE model for random character sequences", 2004;
    a Zipf exponent of `s` is `a = 1 / s`). With the two rates close to each other, all
    ids are equally frequent; with the lowest rate near zero, there is no end of ids.

    Args:
        grid: The grid of the sample.
        spectrum: How many ids are in exactly 1, 2, ... lookups, as `grid.seen`.

    Returns:
        float64, `(rates,)`: how many ids have each of the grid's rates.
    """
    low, high = np.log(grid.bounds[0]), np.log(grid.bounds[-1])
    bounds = np.log(grid.bounds)
    once = -np.log(grid.lookups)

    def weights(numbers: np.ndarray) -> np.ndarray:
        power, lowest, highest = numbers
        if not (-2 < power < 8 and low <= lowest < highest <= high):
            return np.zeros(len(grid.rates))
        edges = np.clip(bounds, lowest, highest)
        # Differences of exp(-power * edge), without an overflow far from `once`.
        if abs(power) < 1e-6:
            return np.diff(edges)
        levels = np.exp(np.clip(-power * (edges - once), -600, 600))
        return np.diff(levels) / -power

    starts = [
        (0.7, once - 5, high - 1),
        (1.2, once - 2, min(once + 4, high - 0.5)),
        (1.0, once - 0.5, min(once + 0.5, high - 0.5)),
    ]
    return _best(grid, spectrum, weights, starts, (0.2, 0.7, -0.5))


def sichel(grid: RateGrid, spectrum: np.ndarray) -> np.ndarray:
    """Fits a generalized inverse Gaussian distribution of rates.

    The density of rates is `x**(-a - 1) exp(-x / b - c / x)` (Sichel, "On a
    distribution law for word frequencies", 1975). It has smooth ends, and includes
    gamma distributions, and so equally frequent ids.

    Args, Returns: As for `zipf_mandelbrot`.
    """
    logs = np.log(grid.rates * grid.lookups)

    def weights(numbers: np.ndarray) -> np.ndarray:
        power, upper, lower = numbers
        if not (-60 < power < 8 and -8 < upper < 14 and -12 < lower < 8):
            return np.zeros(len(grid.rates))
        exponent = -power * logs - np.exp(logs - upper) - np.exp(lower - logs)
        return np.exp(exponent - exponent.max())

    starts = [(0.6, 4.0, -4.0), (-1.0, 0.0, -6.0), (1.0, 4.0, 0.0)]
    return _best(grid, spectrum, weights, starts, (0.3, 1.0, 1.0))


def pitman_yor(grid: RateGrid, spectrum: np.ndarray) -> np.ndarray:
    """Fits the rates of a Pitman-Yor process, whose ids never end.

    The density of rates is `x**(-a - 1) exp(-x / b)` with `a` from 0 to 1, so the
    number of ids grows as a power of the lookups, as Heaps' law says (Pitman and Yor,
    "The two-parameter Poisson-Dirichlet distribution", 1997).

    Args, Returns: As for `zipf_mandelbrot`.
    """
    logs = np.log(grid.rates * grid.lookups)

    def weights(numbers: np.ndarray) -> np.ndarray:
        power, upper = numbers
        if not (0 <= power < 1 and -4 < upper < 14):
            return np.zeros(len(grid.rates))
        exponent = -power * logs - np.exp(logs - upper)
        return np.exp(exponent - exponent.max())

    return _best(grid, spectrum, weights, [(0.5, 4.0), (0.1, 2.0)], (0.2, 1.0))


def _best(
    grid: RateGrid,
    spectrum: np.ndarray,
    weights: Callable[[np.ndarray], np.ndarray],
    starts: list[tuple[float, ...]],
    steps: tuple[float, ...],
) -> np.ndarray:
    """Returns the weights of the most likely numbers."""
    total = spectrum.sum()

    def loss(numbers: np.ndarray) -> float:
        likely = grid.seen @ weights(numbers)
        whole = likely.sum()
        if not 0 < whole < np.inf:
            return np.inf
        logs = np.log(np.maximum(likely / whole, _IMPOSSIBLE))
        return -float(spectrum @ logs) / total

    found = [
        minimize(loss, start, steps)
        for start in starts
        if np.isfinite(loss(np.array(start)))
    ]
    # Searched once more from the best, since a simplex may have become flat.
    best = minimize(loss, min(found, key=loss), steps)
    return _scaled(grid, spectrum, weights(best))


def _scaled(grid: RateGrid, spectrum: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Scales weights so that as many ids are seen as in the sample."""
    return weights * (spectrum.sum() / (grid.seen @ weights).sum())
