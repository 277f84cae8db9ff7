"""In how many of a sample's lookups each id of a table is."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np

# A sample of fewer lookups is divided further, so that the counts of its ids differ
# enough to tell frequent ids from rare ones. Each lookup has at most so many parts.
_ENOUGH_PARTS = 400
_MOST_PARTS = 16


@dataclasses.dataclass(frozen=True)
class Incidence:
    """Which id is in which part of a sample, each pair once.

    Attributes:
        places: int64: places in a list of ids, rising.
        parts: int64: the parts that have these ids, rising for each id.
        count: How many parts the sample has.
    """

    places: np.ndarray
    parts: np.ndarray
    count: int

    def per_id(self, ids: int) -> np.ndarray:
        """Returns in how many parts each of `ids` ids is."""
        return np.bincount(self.places, minlength=ids)

    def arrivals(self, nth: int = 1) -> np.ndarray:
        """Returns for each part how many ids are then in a part for the n-th time."""
        starts = np.flatnonzero(np.diff(self.places, prepend=-1))
        ends = np.append(starts[1:], len(self.places))
        nths = starts + nth - 1
        return np.bincount(self.parts[nths[nths < ends]], minlength=self.count)


@dataclasses.dataclass(frozen=True)
class IdCounts:
    """The ids of a table in the lookups of a sample.

    Attributes:
        ids: int64: each id once, rising.
        lookups: Which id is in which lookup. A lookup names an id once, however often
            its batch has the id.
        parts: Which id is in which part of a lookup. All lookups have as many parts.
        looked_up: How many ids the lookups had, with the repeats of each batch.
    """

    ids: np.ndarray
    lookups: Incidence
    parts: Incidence
    looked_up: int

    @property
    def parts_per_lookup(self) -> int:
        """How many parts each lookup has."""
        return self.parts.count // self.lookups.count

    @functools.cached_property
    def in_lookups(self) -> np.ndarray:
        """In how many lookups each id is."""
        return self.lookups.per_id(len(self.ids))

    @functools.cached_property
    def in_parts(self) -> np.ndarray:
        """In how many parts each id is."""
        return self.parts.per_id(len(self.ids))


def count_ids(lookups: Sequence[np.ndarray]) -> IdCounts:
    """Counts the ids of the lookups of one table.

    Args:
        lookups: The ids of each lookup, in the order of the lookups, with repeats.

    Returns:
        An `IdCounts`.
    """
    per_lookup = _parts_of(lookups)
    sizes = np.array([len(each) for each in lookups])
    ids, places = np.unique(np.concatenate(lookups), return_inverse=True)
    places = places.reshape(-1)
    numbers = np.repeat(np.arange(len(lookups)), sizes)
    # The n-th of an even division of a lookup's ids into parts.
    within = np.arange(len(places)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    parts = within * per_lookup // np.maximum(np.repeat(sizes, sizes), 1)
    return IdCounts(
        ids,
        _incidence(places, numbers, len(lookups)),
        _incidence(places, numbers * per_lookup + parts, len(lookups) * per_lookup),
        len(places),
    )


def _parts_of(lookups: Sequence[np.ndarray]) -> int:
    wanted = -(-_ENOUGH_PARTS // len(lookups))
    largest = max(len(each) for each in lookups)
    return max(1, min(wanted, _MOST_PARTS, largest))


def _incidence(places: np.ndarray, parts: np.ndarray, count: int) -> Incidence:
    pairs = np.unique(places.astype(np.int64) * count + parts)
    return Incidence(pairs // count, pairs % count, count)
