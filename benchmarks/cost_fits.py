"""Fits what each piece of work takes to measured processor times."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

# The cyclic descent below has converged long before.
_PASSES = 5_000


@dataclasses.dataclass(frozen=True)
class Fit:
    """A fit.

    Attributes:
        takes: What one of each thing takes, in seconds.
        worst_error: The largest relative error of a measurement, without its sign.
        sum_of_squares: That of the relative errors, each times its weight.
    """

    takes: dict[str, float]
    worst_error: float
    sum_of_squares: float


def fit(
    terms: Sequence[Mapping[str, float]],
    seconds: Sequence[float],
    weights: Sequence[float] | None = None,
) -> Fit:
    """Fits seconds as a sum of terms, each times what one of it takes.

    The sum of squares of relative errors is least, and nothing takes less than no time.

    Args:
        terms: How many of each thing each measurement had.
        seconds: What each measurement took.
        weights: How much each error counts. Defaults to None: equally.
    """
    names = list(terms[0])
    counts = np.array([[each[name] for name in names] for each in terms], float)
    scale = np.ones(len(seconds)) if weights is None else np.array(weights, float)
    relative = counts * (scale / np.array(seconds))[:, None]
    # Columns of one length converge faster.
    lengths = np.linalg.norm(relative, axis=0)
    columns = relative / np.where(lengths > 0, lengths, 1.0)
    takes = np.zeros(len(names))
    left = scale.copy()
    for _ in range(_PASSES):
        for place in range(len(names)):
            column = columns[:, place]
            better = max(takes[place] + float(column @ left), 0.0)
            left -= column * (better - takes[place])
            takes[place] = better
    scaled = takes / np.where(lengths > 0, lengths, 1.0)
    return Fit(
        takes={name: float(value) for name, value in zip(names, scaled)},
        worst_error=float(np.max(np.abs(left / scale))),
        sum_of_squares=float(left @ left),
    )
