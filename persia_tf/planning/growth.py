"""How many distinct ids a table meets as lookups go on.

Within the sample the number is exact, by rarefaction. Beyond it, a distribution of the
ids' rates says how many ids are still to come. Three families of distributions are
fitted, and averaged by how likely they are (by Akaike's information criterion, 1974).
Then the most likely family is fitted to parts of the sample, and predicts the rest of
it: what it misses there, on average, corrects the prediction, as far as it is not
chance, and says how wide its interval is.

If the ids change as the stream goes on, or come sorted, no such distribution exists.
That shows: the beginning of the sample then has other ids than as many of its lookups
drawn at random. In this case, the rate at which new ids came is extrapolated instead,
if that predicts the end of the sample better.
"""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np

from persia_tf.planning.arrivals import PowerLaw
from persia_tf.planning.counts import IdCounts
from persia_tf.planning.estimate import Estimate
from persia_tf.planning.fitted_rates import FittedRates, fit_best
from persia_tf.planning.rarefaction import seen_chances

# The law of streams whose ids change, and that of runs within the sample.
IN_ORDER = "arrivals"
NONE = "none"

# A sample is predicted from parts that are at least a fifth of it, or if ids count that
# come several times, a third; and the prediction of new ids is corrected by a factor of
# at most exp(0.3). Less data, and larger errors, say more of chance than of the law.
_MOST_FACTOR = 5.0
_MOST_FACTOR_OF_REPEATS = 3.0
_MOST_BIAS = 0.3
_LEAST_PARTS = 4
_FOLDS = 4
_SEED = 0

# The beginning of a sample differs from a random part of it if their distinct ids
# differ by more than this part, and by more than so many standard deviations.
_LEAST_DRIFT = 0.04
_DRIFT_DEVIATIONS = 4.0

# An interval has this many standard deviations on both sides. The deviation of new ids
# is at least so large a part of them for each time that the run is as long as the
# sample, up to _FAR times: real ids follow no law exactly. Beyond, the logarithm of new
# ids deviates by so much more each time that the run is e times as long: as measured
# with real and artificial streams, of runs up to 1000 times as long as their samples.
_DEVIATIONS = 2.0
_LEAST_DEVIATION = 0.012
_FAR = 10.0
_DEVIATION_BEYOND = 0.15

# A few ids more or less are chance, and no error of a law.
_FEW = 5.0


@dataclasses.dataclass(frozen=True)
class Check:
    """How well parts of the sample predict the rest.

    Attributes:
        in_order: Whether the arrivals of new ids are extrapolated, and not their rates.
        bias: The logarithm of predicted over actual new ids, as far as it is no chance.
        deviation: The standard deviation of that logarithm.
    """

    in_order: bool
    bias: float
    deviation: float


class Growth:
    """The number of distinct ids of a table, by the number of its lookups.

    Args:
        counts: The ids of the sample.
        lookups: How many lookups of the table the run has.
    """

    def __init__(self, counts: IdCounts, lookups: int) -> None:
        self.counts = counts
        self.lookups = lookups
        self._sampled = counts.lookups.count
        self._checks: dict[int, Check] = {}

    def distinct(self, lookups: int | None = None) -> Estimate:
        """Returns the number of distinct ids in some lookups.

        Args:
            lookups: How many lookups; None for those of the run.

        Returns:
            An `Estimate`. Up to the size of the sample, it is of lookups drawn from it.
        """
        return self.looked_up(1, lookups)

    def looked_up(self, times: int, lookups: int | None = None) -> Estimate:
        """Returns the number of ids that are in at least `times` of some lookups.

        Args:
            times: At least 1.
            lookups: As for `distinct`.
        """
        lookups = self.lookups if lookups is None else lookups
        if not len(self.counts.ids):
            return Estimate.exact(0.0)
        if lookups <= self._sampled:
            return self._within(times, lookups)
        already = float((self.counts.in_lookups >= times).sum())
        check = self._check(times)
        if check.in_order:
            law = PowerLaw.fitted(self.counts.lookups.arrivals(times))
            new = law.until(lookups)
        else:
            new = self._expected(times, lookups) * math.exp(-check.bias)
        wide = math.exp(_DEVIATIONS * check.deviation)
        chance = _DEVIATIONS * math.sqrt(new + 1)
        return Estimate(
            already + new,
            already + max(new / wide - chance, 0.0),
            already + new * wide + chance,
        )

    @property
    def law(self) -> str:
        """The name of the law by which the prediction beyond the sample is made."""
        if self.lookups <= self._sampled or not len(self.counts.ids):
            return NONE
        return IN_ORDER if self._check(1).in_order else self._best.name

    @functools.cached_property
    def drift(self) -> float:
        """By what part the first half has other ids than any half; 0 if by chance."""
        parts = self.counts.parts
        half = parts.count // 2
        if not half or not len(self.counts.ids):
            return 0.0
        chances = seen_chances(self.counts.in_parts, parts.count, 1, half)
        expected = float(chances.sum())
        deviation = math.sqrt(float((chances * (1 - chances)).sum()))
        differs = abs(float(parts.arrivals()[:half].sum()) - expected)
        if differs < max(_DRIFT_DEVIATIONS * deviation, _LEAST_DRIFT * expected):
            return 0.0
        return differs / expected

    def _within(self, times: int, lookups: int) -> Estimate:
        chances = seen_chances(self.counts.in_lookups, self._sampled, times, lookups)
        value = float(chances.sum())
        # At most so wide, since lookups that have one id lack others.
        wide = _DEVIATIONS * math.sqrt(float((chances * (1 - chances)).sum()))
        return Estimate(value, max(value - wide, 0.0), value + wide)

    @functools.cached_property
    def _best(self) -> FittedRates:
        return fit_best(self.counts.in_parts, self.counts.parts.count)

    def _expected(self, times: int, lookups: int) -> float:
        per_lookup = self.counts.parts_per_lookup
        left = lookups - self._sampled
        return self._best.new(times, left, per_lookup, self.counts.in_lookups)

    def _check(self, times: int) -> Check:
        if times not in self._checks:
            self._checks[times] = self._checked(times)
        return self._checks[times]

    def _checked(self, times: int) -> Check:
        parts = self.counts.parts.count
        factor = self.lookups / self._sampled
        least = _least_deviation(factor)
        if parts < 2 * _LEAST_PARTS:
            return Check(False, 0.0, math.hypot(least, 0.5))
        most = _MOST_FACTOR if times == 1 else _MOST_FACTOR_OF_REPEATS
        size = max(round(parts / min(factor, most)), _LEAST_PARTS)
        size = min(size, parts // 2)
        first = self._error(times, self._in_some(np.arange(parts) < size), size)
        if self.drift:
            in_order = self._error_in_order(times, size)
            if abs(in_order) < abs(first):
                return Check(True, 0.0, math.hypot(in_order, least))
            return Check(False, first, math.hypot(first / 2, least))
        draw = np.random.default_rng(_SEED)
        found = [first]
        for _ in range(_FOLDS - 1):
            among = np.zeros(parts, bool)
            among[draw.choice(parts, size, replace=False)] = True
            found.append(self._error(times, self._in_some(among), size))
        mean, spread = float(np.mean(found)), float(np.std(found, ddof=1))
        # What a fit says of ids that come `times` times rests on those that did.
        _, part = self._in_some(np.arange(parts) < size)
        few = 1 / math.sqrt(1 + float((part == times).sum()))
        chance = math.hypot(spread, few) / math.sqrt(_FOLDS)
        bias = _without_chance(mean, math.hypot(chance, _LEAST_DEVIATION))
        bias = min(max(bias, -_MOST_BIAS), _MOST_BIAS)
        # A correction is uncertain by about half of itself.
        deviation = math.hypot(chance, bias / 2, least)
        return Check(False, bias, deviation)

    def _in_some(self, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns in how many parts each id is, and in how many of `among`."""
        incidence = self.counts.parts
        part = np.bincount(
            incidence.places[among[incidence.parts]], minlength=len(self.counts.ids)
        )
        return self.counts.in_parts, part

    def _error(
        self, times: int, counts: tuple[np.ndarray, np.ndarray], size: int
    ) -> float:
        """Fits the law to a part of a sample, which predicts the rest of it.

        Args:
            times: In how many parts an id must be to count.
            counts: In how many parts each id is, and in how many of the fitted ones.
            size: How many parts are fitted.

        Returns:
            The logarithm of the number of ids that are predicted to come in the other
            parts, over the number of those that do.
        """
        whole, part = counts
        known = part[part > 0]
        if not len(known):
            return 0.0
        fitted = self._best.refitted(known, size)
        predicted = fitted.new(times, self.counts.parts.count - size, 1, known)
        actual = float(((whole >= times) & (part < times)).sum())
        return math.log((predicted + _FEW) / (actual + _FEW))

    def _error_in_order(self, times: int, size: int) -> float:
        arrivals = self.counts.parts.arrivals(times)
        predicted = PowerLaw.fitted(arrivals[:size]).until(len(arrivals))
        actual = float(arrivals[size:].sum())
        return math.log((predicted + _FEW) / (actual + _FEW))


def _least_deviation(factor: float) -> float:
    """Returns by how much the logarithm of new ids deviates at least.

    Args:
        factor: How many times as long as the sample the run is.
    """
    near = min(factor, _FAR)
    return _LEAST_DEVIATION * near + _DEVIATION_BEYOND * math.log(factor / near)


def _without_chance(mean: float, chance: float) -> float:
    """Shrinks a mean by what may be chance (the positive-part rule of James and Stein).

    A mean below 1.5 standard deviations becomes 0, and a large one stays.
    """
    return mean * max(0.0, 1 - (1.5 * chance / mean) ** 2) if mean else 0.0
