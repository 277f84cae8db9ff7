"""How long calls take on a machine that is slow for a while, and then fast again."""

from __future__ import annotations

import math

import numpy as np

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.costs import CallCosts


class Slowness:
    """Draws how long calls take, over the median of such calls.

    Each draw has the measured distribution. Draws soon after each other are alike, as
    measured, too: their quantile is the probability of a normally distributed variable,
    a part of which forgets itself exponentially, and the rest at once.
    """

    def __init__(self, clock: Clock, random: np.random.Generator) -> None:
        self._clock = clock
        self._random = random
        self._slow = random.standard_normal()
        self._at = clock.now

    def draw(self, costs: CallCosts) -> float:
        """Returns how long a call that begins now takes, over the median."""
        kept = 0.0
        if costs.slow_seconds > 0:
            kept = math.exp((self._at - self._clock.now) / costs.slow_seconds)
        self._slow = self._mixed(self._slow, kept * kept)
        self._at = self._clock.now
        now = self._mixed(self._slow, costs.slow_part)
        probability = (1.0 + math.erf(now / math.sqrt(2.0))) / 2.0
        return _quantile(costs.spread, probability)

    def _mixed(self, variable: float, part: float) -> float:
        """Returns a variable of which a part of the variance is a given variable's."""
        new = self._random.standard_normal()
        return math.sqrt(part) * variable + math.sqrt(1.0 - part) * new


def _quantile(quantiles: tuple[float, ...], probability: float) -> float:
    place = probability * (len(quantiles) - 1)
    below = min(int(place), len(quantiles) - 2)
    part = place - below
    return quantiles[below] * (1 - part) + quantiles[below + 1] * part
