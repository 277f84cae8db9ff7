"""How unequally often the ids of a table are looked up."""

from __future__ import annotations

import dataclasses

import numpy as np

from persia_tf.planning.counts import IdCounts
from persia_tf.planning.growth import Growth

# The parts of all rows for which the curve of hit rates is given.
_KEPT = (0.0001, 0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_HOTTEST, _HOT = 0.001, 0.01

# The exponent is fitted to the ids that are in at least so many parts of the sample.
_FREQUENT = 8
_LEAST_IDS = 10


@dataclasses.dataclass(frozen=True)
class Skew:
    """How unequally often ids are looked up.

    Attributes:
        exponent: The exponent of Zipf's law that fits the frequent ids: the n-th most
            frequent id is looked up in proportion to `n ** -exponent`. None if too few
            ids are frequent.
        hottest_permille: The part of lookups' ids that go to the hottest 0.1% of rows.
        hottest_percent: The part of lookups' ids that go to the hottest 1% of rows.
        hit_rates: Pairs of a number of rows and the part of lookups' ids that are among
            them, if the hottest rows are kept, as in the cache of an embedding worker.
    """

    exponent: float | None
    hottest_permille: float
    hottest_percent: float
    hit_rates: tuple[tuple[int, float], ...]


def skew_of(growth: Growth) -> Skew:
    """Returns the skew of a table's ids.

    The hottest ids are ranked by one half of the sample, and looked up by the other
    half, so that an id that was frequent by chance does not count.

    Args:
        growth: The growth of the table's distinct ids, whose number at the run's end
            is what parts of rows refer to.
    """
    rows = growth.distinct().value
    shares = _CrossedShares(growth.counts)
    return Skew(
        exponent=_exponent(growth.counts),
        hottest_permille=shares.of(_HOTTEST * rows),
        hottest_percent=shares.of(_HOT * rows),
        hit_rates=tuple(
            (round(part * rows), shares.of(part * rows))
            for part in _KEPT
            if part * rows >= 1
        ),
    )


class _CrossedShares:
    """The part of each half's lookups that go to the other half's hottest ids."""

    def __init__(self, counts: IdCounts) -> None:
        ids, incidence = len(counts.ids), counts.parts
        odd = incidence.parts % 2 == 1
        first = np.bincount(incidence.places[odd], minlength=ids)
        second = np.bincount(incidence.places[~odd], minlength=ids)
        self._curves = [
            _curve(ranked, looked_up)
            for ranked, looked_up in ((first, second), (second, first))
            if ranked.any() and looked_up.any()
        ]

    def of(self, rows: float) -> float:
        """Returns the part of ids that the hottest `rows` ids answer."""
        if not self._curves:
            return 0.0
        found = [np.interp(rows, np.arange(len(each)), each) for each in self._curves]
        return float(np.mean(found))


def _curve(ranked: np.ndarray, looked_up: np.ndarray) -> np.ndarray:
    order = np.argsort(-ranked, kind="stable")
    order = order[ranked[order] > 0]
    shares = np.cumsum(looked_up[order]) / looked_up.sum()
    return np.concatenate([[0.0], shares])


def _exponent(counts: IdCounts) -> float | None:
    """Returns minus the slope of log frequency over log rank, for frequent ids.

    Ids that are in nearly every part are left out: their number of lookups says nothing
    of how frequent they are. The rank's 1/2 removes most of the bias of small ranks
    (Gabaix and Ibragimov, 2011).
    """
    in_parts = np.sort(counts.in_parts)[::-1]
    share = in_parts / counts.parts.count
    ranks = np.arange(1, len(in_parts) + 1)
    used = (in_parts >= _FREQUENT) & (share < 0.9)
    if used.sum() < _LEAST_IDS:
        return None
    logs = np.log(ranks[used] - 0.5)
    rates = np.log(-np.log1p(-share[used]))
    # Each octave of ranks counts the same.
    weights = 1 / ranks[used]
    middle, mean = (np.average(x, weights=weights) for x in (logs, rates))
    spread = np.average((logs - middle) ** 2, weights=weights)
    if spread <= 0:
        return None
    slope = np.average((logs - middle) * (rates - mean), weights=weights) / spread
    return max(-float(slope), 0.0)
