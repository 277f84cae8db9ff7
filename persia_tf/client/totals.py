"""Counters of sessions, added up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# For these counters, the maximum over sessions is the total, not the sum.
_MAXIMA = ("staleness_last", "staleness_max")

# These describe the present, which an ended session is not part of.
_PRESENT = ("staleness_last", "updates_pending", "batches_registered")


class Totals:
    """The sum of counters, some of which are of sessions that have ended.

    Args:
        zeros: Each counter's name, with the value 0.
        bins: The number of bins of the histogram of staleness.

    Attributes:
        counters: The counters, by name.
        staleness: How many training batches had a staleness of 0, 1, 2, ...
    """

    def __init__(self, zeros: Mapping[str, int], bins: int) -> None:
        self.counters = dict(zeros)
        self.staleness = [0] * bins

    def copy(self) -> Totals:
        """Returns a copy, to which others can be added."""
        copied = Totals(self.counters, 0)
        copied.staleness = list(self.staleness)
        return copied

    def add(
        self, counters: Mapping[str, int], staleness: Sequence[int], *, ended: bool
    ) -> None:
        """Adds a session's counters.

        Args:
            counters: The session's counters, by name.
            staleness: The session's histogram.
            ended: Whether the session has ended, so that it has no present.
        """
        for name, value in counters.items():
            if ended and name in _PRESENT:
                continue
            if name in _MAXIMA:
                self.counters[name] = max(self.counters[name], value)
            else:
                self.counters[name] += value
        self.staleness = [old + new for old, new in zip(self.staleness, staleness)]
