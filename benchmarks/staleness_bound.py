"""What the convergence bound says that staleness costs, and how well its shape holds.

The bound is that of hybrid training in PERSIA (arXiv 2111.05897): for a smooth loss and
gradients of bounded variance `sigma ** 2`, the mean squared norm of the gradient over
`T` steps is of the order of

    sigma / sqrt(T) + 1 / T + tau * alpha / T

where `tau` bounds the staleness of rows, and `alpha` the frequency of the most frequent
id. The first two terms are those of synchronous training. The third one alone is the
price of staleness. Where it comes from: a gradient is taken at rows that lack `tau`
updates, so it is wrong by the smoothness times the distance that these would have moved
the rows which the batch uses. Of `tau` updates, `tau * alpha` at most have touched a
given row. With a dense delay every update moves every weight, so there `alpha` is 1.

So the predicted cost is `constant * tau * alpha / T`. The constant holds what the
theorem leaves open: smoothness, learning rate, and what a squared gradient is worth in
loss. It is the only number that is fitted here.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

# The 97.5th percentiles of Student's t distribution, by degrees of freedom.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL = 1.96
# A measured cost within this factor of the predicted one counts as near.
NEAR = 3.0


class Interval(NamedTuple):
    """A mean over seeds, and half the width of its 95% confidence interval.

    Attributes:
        mean: The mean.
        half_width: Half the width, or None if there is a single seed.
    """

    mean: float
    half_width: float | None

    @property
    def is_positive(self) -> bool:
        """Whether the whole interval is above 0."""
        return self.mean > (self.half_width or 0.0)


class Point(NamedTuple):
    """A measured cost of staleness.

    Attributes:
        staleness: The staleness `tau`, in steps.
        alpha: The frequency of the most frequent id.
        steps: The number of steps `T` of the training.
        excess: The loss over that of synchronous training.
    """

    staleness: int
    alpha: float
    steps: int
    excess: float


@dataclasses.dataclass(frozen=True)
class Fit:
    """How well the bound's shape describes measured costs.

    Attributes:
        points: The number of costs.
        constant: The bound's constant: the one with the least squared error of the
            logarithm of the cost.
        correlation: The correlation of the logarithms of the measured and of the
            predicted cost; None if either is the same for all.
        slope: By which power of the predicted cost the measured one grows, in the best
            straight line through the logarithms. The bound's shape says 1.
        factor: The typical factor between measured and predicted cost: the exponential
            of the root mean square of the logarithm of their ratio.
        near: The share of costs within a factor of `NEAR` of the predicted ones.
    """

    points: int
    constant: float
    correlation: float | None
    slope: float | None
    factor: float
    near: float

    def figures(self) -> dict[str, Any]:
        """Returns the attributes as a dict."""
        return dataclasses.asdict(self)


def interval(values: Sequence[float]) -> Interval:
    """Returns the mean of values and its 95% confidence interval, by Student's t."""
    mean = statistics.mean(values)
    if len(values) < 2:
        return Interval(mean, None)
    freedom = len(values) - 1
    quantile = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL
    error = statistics.stdev(values) / math.sqrt(len(values))
    return Interval(mean, quantile * error)


def chance_in_batch(frequency: Any, batch: int) -> Any:
    """Returns how probable it is that a batch contains an id.

    Args:
        frequency: The share of examples that have the id: a number, or an array of
            those of several ids.
        batch: The number of examples of a batch.
    """
    return 1.0 - (1.0 - frequency) ** batch


def alphas(columns: Sequence[np.ndarray], batch: int) -> dict[str, float]:
    """Returns the readings of the frequency `alpha` that are compared.

    Args:
        columns: The share of examples that have each id, for each column of ids.
        batch: The number of examples of a batch.

    Returns:
        A dict. `batch` is the chance that a batch contains the most frequent id: the
        theorem's, a step being one of its samples. `example` is the share of examples
        with that id. `typical` is the chance that a batch contains the id of a random
        example, as a mean over columns. `none` is 1, and ignores skew.
    """
    highest = max(float(column.max(initial=0.0)) for column in columns)
    typical = [
        float((column * chance_in_batch(column, batch)).sum() / column.sum())
        for column in columns
        if column.any()
    ]
    return {
        "batch": chance_in_batch(highest, batch),
        "example": highest,
        "typical": statistics.mean(typical),
        "none": 1.0,
    }


def predicted(
    staleness: float, alpha: float, steps: int, constant: float = 1.0
) -> float:
    """Returns the cost of staleness by the bound's shape.

    Args:
        staleness: The staleness `tau`, in steps.
        alpha: The frequency of the most frequent id.
        steps: The number of steps of the training.
        constant: The bound's constant.
    """
    return constant * staleness * alpha / steps


def fit(points: Sequence[Point]) -> Fit | None:
    """Fits the bound's constant to measured costs, all of which must be positive.

    Args:
        points: The costs.

    Returns:
        The fit, or None if there are no points.
    """
    if not points:
        return None
    measured = [math.log(point.excess) for point in points]
    shape = [math.log(predicted(*point[:3])) for point in points]
    offset = statistics.mean(measured) - statistics.mean(shape)
    residuals = [m - s - offset for m, s in zip(measured, shape)]
    varies = len(set(shape)) > 1 and len(set(measured)) > 1
    correlation = _correlation(shape, measured) if varies else None
    slope = None
    if correlation is not None:
        slope = correlation * statistics.stdev(measured) / statistics.stdev(shape)
    return Fit(
        points=len(points),
        constant=math.exp(offset),
        correlation=correlation,
        slope=slope,
        factor=math.exp(math.sqrt(statistics.mean(r * r for r in residuals))),
        near=statistics.mean(abs(r) <= math.log(NEAR) for r in residuals),
    )


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    mean_x, mean_y = statistics.mean(xs), statistics.mean(ys)
    pairs = [(x - mean_x, y - mean_y) for x, y in zip(xs, ys)]
    together = sum(x * y for x, y in pairs)
    return together / math.sqrt(
        sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs)
    )
