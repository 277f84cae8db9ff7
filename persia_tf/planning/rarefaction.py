"""Rarefaction: how many ids a part of a sample has, exactly.

The number of distinct ids in `m` lookups that are drawn from the `n` of a sample
without replacement follows from how many lookups each id is in (Hurlbert, "The
nonconcept of species diversity", 1971).
"""

from __future__ import annotations

import math

import numpy as np


def seen_chances(
    counts: np.ndarray, sampled: int, times: int, drawn: int
) -> np.ndarray:
    """Returns the chance of each id to be in at least `times` of the drawn lookups.

    Args:
        counts: In how many lookups of the sample each id is.
        sampled: How many lookups the sample has.
        times: At least 1.
        drawn: How many lookups are drawn, at most `sampled`.

    Returns:
        float64, the shape of `counts`: hypergeometric tail probabilities.
    """
    distinct, places = np.unique(counts, return_inverse=True)
    below = np.zeros(len(distinct))
    whole = _log_choices(sampled, drawn)
    for index, count in enumerate(distinct.tolist()):
        for fewer in range(min(times, count + 1, drawn + 1)):
            rest = drawn - fewer
            if rest > sampled - count:
                continue
            chance = _log_choices(count, fewer) + _log_choices(sampled - count, rest)
            below[index] += math.exp(chance - whole)
    return np.clip(1 - below, 0, 1)[places.reshape(-1)]


def _log_choices(among: int, chosen: int) -> float:
    return (
        math.lgamma(among + 1)
        - math.lgamma(chosen + 1)
        - math.lgamma(among - chosen + 1)
    )
