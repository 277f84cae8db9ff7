"""How often the ids of a table are looked up: a distribution of their rates.

An id with rate `x` is in a lookup with probability `1 - exp(-x)`, so it is in none of
`n` lookups with probability `exp(-n x)`. A distribution of rates says how many ids have
which rate, those included that no lookup had yet. It is held on a grid of rates whose
logarithms are equally spaced.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

# The ratio of neighbouring rates of a grid.
_RATIO = 1.1

# Ids that are in more lookups than this are too frequent to tell of ids that no lookup
# had yet, so they count as one class.
MOST_COUNT = 40

# The rarest id of a grid is expected once in so many samples, and the most frequent
# one is in a lookup but for a chance of exp(-_HIGHEST).
_SAMPLES_OF_RAREST = 2000.0
_HIGHEST = 8.0


@dataclasses.dataclass(frozen=True)
class RateGrid:
    """A grid of rates, for a sample of some lookups.

    Attributes:
        lookups: How many lookups the sample has.
        rates: float64, `(rates,)`: rising.
        bounds: float64, `(rates + 1,)`: where the cells of the rates begin and end.
        seen: float64, `(counts, rates)`: the probability that an id of each rate is in
            exactly 1, 2, ... lookups of the sample. The last row is for all more.
    """

    lookups: int
    rates: np.ndarray
    bounds: np.ndarray
    seen: np.ndarray

    @property
    def unseen(self) -> np.ndarray:
        """The probability that an id of each rate is in no lookup of the sample."""
        return np.exp(-self.lookups * self.rates)


@functools.lru_cache(maxsize=32)
def grid_of(lookups: int) -> RateGrid:
    """Returns the grid for a sample of `lookups` lookups."""
    lowest = 1 / (_SAMPLES_OF_RAREST * lookups)
    cells = math.ceil(math.log(_HIGHEST / lowest) / math.log(_RATIO))
    bounds = lowest * _RATIO ** np.arange(cells + 1)
    rates = np.sqrt(bounds[1:] * bounds[:-1])
    return RateGrid(lookups, rates, bounds, _seen(lookups, rates))


def at_least(count: np.ndarray, lookups: int, rates: np.ndarray) -> np.ndarray:
    """Returns the probability that an id is in at least `count` of `lookups` lookups.

    Args:
        count: Integers, of any shape that broadcasts with `rates`. Those of at most 0
            give 1.
        lookups: How many lookups there are.
        rates: The rates of the ids.

    Returns:
        float64, of the joint shape.
    """
    count, rates = np.broadcast_arrays(count, rates)
    below = np.zeros(rates.shape)
    term = np.exp(-lookups * rates)
    odds = np.expm1(rates)
    for fewer in range(min(int(count.max(initial=0)), lookups + 1)):
        below += np.where(fewer < count, term, 0)
        term = term * odds * (lookups - fewer) / (fewer + 1)
    return np.where(count <= 0, 1.0, np.clip(1 - below, 0, 1))


def _seen(lookups: int, rates: np.ndarray) -> np.ndarray:
    most = min(MOST_COUNT, lookups)
    counts = np.arange(1, most + 1)
    choices = [
        math.lgamma(lookups + 1) - math.lgamma(k + 1) - math.lgamma(lookups - k + 1)
        for k in counts
    ]
    logs = (
        np.array(choices)[:, None]
        + counts[:, None] * np.log(-np.expm1(-rates))
        - (lookups - counts)[:, None] * rates
    )
    exactly = np.exp(logs)
    more = np.clip(1 - np.exp(-lookups * rates) - exactly.sum(axis=0), 0, 1)
    return np.vstack([exactly, more])
