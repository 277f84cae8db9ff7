"""A distribution of rates that was fitted to a sample, and what follows from it."""

from __future__ import annotations

import dataclasses

import numpy as np

from persia_tf.planning.rate_models import Fit, pitman_yor, sichel, zipf_mandelbrot
from persia_tf.planning.rates import MOST_COUNT, RateGrid, at_least, grid_of

# The families, with how many numbers each fits.
_FAMILIES: dict[str, tuple[Fit, int]] = {
    "zipf-mandelbrot": (zipf_mandelbrot, 3),
    "sichel": (sichel, 3),
    "pitman-yor": (pitman_yor, 2),
}
_IMPOSSIBLE = 1e-300


@dataclasses.dataclass(frozen=True)
class FittedRates:
    """A distribution of the rates of a table's ids.

    Attributes:
        name: The family's name.
        grid: The grid of the sample's parts.
        weights: How many ids have each of the grid's rates.
        in_parts: In how many parts of the sample each of its ids is.
        criterion: Akaike's: the lower, the better the fit.
    """

    name: str
    grid: RateGrid
    weights: np.ndarray
    in_parts: np.ndarray
    criterion: float

    def refitted(self, in_parts: np.ndarray, parts: int) -> FittedRates:
        """Returns the same family, fitted to other ids."""
        return _fit(self.name, in_parts, parts)

    def new(
        self, times: int, left: int, per_lookup: int, in_lookups: np.ndarray
    ) -> float:
        """Returns how many ids are still to be in `times` lookups.

        Args:
            times: In how many lookups.
            left: How many lookups follow the sample.
            per_lookup: How many parts a lookup has.
            in_lookups: In how many lookups of the sample each of its ids is.

        Returns:
            The expected number of ids that are in fewer lookups of the sample, or in
            none, and in `times` lookups or more at the end.
        """
        rates = per_lookup * self.grid.rates
        unseen = self.weights * self.grid.unseen
        new = float(unseen @ at_least(np.array(times), left, rates))
        open_ = in_lookups < times
        if not open_.any():
            return new
        pairs, members = np.unique(
            np.stack([in_lookups[open_], self.in_parts[open_]]),
            axis=1,
            return_counts=True,
        )
        wanted, in_parts = times - pairs[0], pairs[1]
        # The rates of ids that are in so many parts, by Bayes' rule.
        classes = np.minimum(in_parts, len(self.grid.seen)) - 1
        likely = self.grid.seen[classes] * self.weights
        whole = np.maximum(likely.sum(axis=1, keepdims=True), _IMPOSSIBLE)
        chances = (likely / whole * at_least(wanted[:, None], left, rates)).sum(axis=1)
        # Those of frequent ids are known well enough.
        share = np.minimum(in_parts / self.grid.lookups, 1 - 1e-9)
        own = at_least(wanted, left, -np.log1p(-share) * per_lookup)
        return new + float(members @ np.where(in_parts > MOST_COUNT, own, chances))


def fit_best(in_parts: np.ndarray, parts: int) -> FittedRates:
    """Fits each family of distributions, and averages them by how likely they are.

    The averages have Akaike's weights (Burnham and Anderson, "Model selection and
    multimodel inference", 2002): families that fit about as well count about as much.

    Args:
        in_parts: In how many parts of the sample each of its ids is, at least 1.
        parts: How many parts the sample has.

    Returns:
        The distribution, with the name of the most likely family.
    """
    fits = [_fit(name, in_parts, parts) for name in _FAMILIES]
    best = min(fits, key=lambda fit: fit.criterion)
    chances = np.exp([(best.criterion - fit.criterion) / 2 for fit in fits])
    weights = np.average([fit.weights for fit in fits], axis=0, weights=chances)
    return dataclasses.replace(best, weights=weights)


def _fit(name: str, in_parts: np.ndarray, parts: int) -> FittedRates:
    fit, numbers = _FAMILIES[name]
    grid = grid_of(parts)
    most = len(grid.seen)
    spectrum = np.bincount(np.minimum(in_parts, most), minlength=most + 1)[1:]
    weights = fit(grid, spectrum.astype(float))
    likely = grid.seen @ weights
    logs = np.log(np.maximum(likely / likely.sum(), _IMPOSSIBLE))
    return FittedRates(
        name, grid, weights, in_parts, 2 * numbers - 2 * float(spectrum @ logs)
    )
