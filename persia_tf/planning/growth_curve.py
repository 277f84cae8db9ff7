"""The curve of a table's distinct ids over the steps of a run."""

from __future__ import annotations

import numpy as np

from persia_tf.planning.estimate import Estimate
from persia_tf.planning.growth import Growth
from persia_tf.planning.parts import GrowthPoint

# At most so many points within the sample, and as many beyond it.
_POINTS = 20


def curve_of(growth: Growth, sample_steps: int) -> tuple[GrowthPoint, ...]:
    """Returns the distinct ids of a table in the first steps of a run.

    Args:
        growth: The growth of the table's distinct ids.
        sample_steps: How many steps the sample has.

    Returns:
        Points in rising order of their steps. Those up to the end of the sample are
        counted, in the order of its batches, and those beyond it are predicted.
    """
    per_step = growth.counts.lookups.count // sample_steps
    run_steps = growth.lookups // per_step
    met = np.cumsum(growth.counts.lookups.arrivals())
    counted = [
        GrowthPoint(steps, Estimate.exact(float(met[steps * per_step - 1])))
        for steps in _spread(0, sample_steps)
    ]
    predicted = [
        GrowthPoint(steps, growth.distinct(steps * per_step))
        for steps in _spread(sample_steps, run_steps)
    ]
    return (*counted, *predicted)


def _spread(first: int, last: int) -> list[int]:
    """Returns some of the integers after `first` until `last`, evenly spaced."""
    places = np.linspace(first, last, _POINTS + 1).round().astype(int)
    return sorted(set(places[1:].tolist()) - {first})
