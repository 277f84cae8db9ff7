"""A predicted number, and the interval in which it probably is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A predicted number.

    Attributes:
        value: The prediction.
        low: The lower end of the interval that holds the number in about 19 of 20
            cases, as long as the run continues as the sample began.
        high: The upper end.
    """

    value: float
    low: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Returns an estimate of a number that is known."""
        return cls(value, value, value)

    @classmethod
    def sum(cls, parts: Iterable[Estimate]) -> Estimate:
        """Returns the estimate of a sum. The ends of the intervals are added, too."""
        ends = zip(*(dataclasses.astuple(each) for each in parts))
        return cls(*([sum(column) for column in ends] or [0.0] * 3))

    def scaled(self, factor: float) -> Estimate:
        """Returns the estimate of `factor` times the number. `factor` is positive."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor)

    def at_most(self, limit: float) -> Estimate:
        """Returns the estimate of the lesser of the number and `limit`."""
        return Estimate(*(min(each, limit) for each in dataclasses.astuple(self)))

    @property
    def spread(self) -> float:
        """The larger distance of an end from the value, as a part of the value."""
        if not self.value:
            return 0.0
        return max(self.high - self.value, self.value - self.low) / self.value
