"""Extrapolates how many new ids each lookup brings, in the order of the stream."""

from __future__ import annotations

import dataclasses

import numpy as np

# The first lookups of a sample bring many ids only because all are new.
_SKIPPED = 0.25
_WINDOWS = 8
_LARGEST_POWER = 3.0


@dataclasses.dataclass(frozen=True)
class PowerLaw:
    """New ids per lookup that fall as a power of the number of lookups.

    That is Heaps' law for the distinct ids (Heaps, "Information retrieval", 1978), with
    a power that is fitted to the later part of the sample, so that it also fits streams
    whose ids change.

    Attributes:
        sampled: How many lookups the sample has.
        rate: New ids per lookup at the end of the sample.
        power: How fast the rate falls: it is `rate * (m / sampled) ** -power`.
    """

    sampled: int
    rate: float
    power: float

    @classmethod
    def fitted(cls, arrivals: np.ndarray) -> PowerLaw:
        """Fits the law to the number of new ids of each lookup of a sample."""
        sampled = len(arrivals)
        first = int(sampled * _SKIPPED)
        windows = max(1, min(_WINDOWS, sampled - first))
        edges = np.linspace(first, sampled, windows + 1).round().astype(int)
        sums = np.add.reduceat(np.append(arrivals, 0), edges[:-1]).astype(float)
        widths = np.diff(edges)
        logs = np.log((edges[:-1] + edges[1:]) / 2 / sampled)
        rates = np.log((sums + 0.5) / widths)
        # Windows with few new ids say less.
        weights = sums + 0.5
        middle = np.average(logs, weights=weights)
        mean = np.average(rates, weights=weights)
        spread = float(weights @ (logs - middle) ** 2)
        slope = 0.0
        if spread > 0:
            slope = float(weights @ ((logs - middle) * (rates - mean))) / spread
            rest = rates - mean - slope * (logs - middle)
            # New ids come in bursts, so their number varies by more than its root.
            bursts = max(float(weights @ rest**2) / max(windows - 2, 1), 1.0)
            slope *= slope**2 / (slope**2 + bursts / spread)
        # A rate that rises for ever is not believed.
        power = float(np.clip(-slope, 0.0, _LARGEST_POWER))
        return cls(sampled, float(np.exp(mean + power * middle)), power)

    def until(self, lookups: int) -> float:
        """Returns how many new ids come until `lookups` lookups, from the sample on."""
        factor = lookups / self.sampled
        if abs(self.power - 1) < 1e-9:
            return self.rate * self.sampled * float(np.log(factor))
        return (
            self.rate
            * self.sampled
            * float(factor ** (1 - self.power) - 1)
            / (1 - self.power)
        )
