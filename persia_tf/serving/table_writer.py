"""Changes the tables of a standalone export while it serves."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from typing import Any

import numpy as np

_ABSENT = 0

# For how long a place is not reused after its id was unlinked. A lookup reads a row
# shortly after it found the row's place: if another id got the place in between, the
# lookup would read the wrong row.
GRACE_SECONDS = 60.0


class TableWriter:
    """Sets and erases rows of a table in a loaded SavedModel.

    Lookups may run meanwhile: they see each row as it was before or after a change.
    Only one thread may write at a time.

    Args:
        table: A `FrozenTable` as loaded by `tf.saved_model.load`. `FrozenTable`
            documents its functions.
        clock: Returns a monotonic time in seconds.
    """

    def __init__(self, table: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._table = table
        self._clock = clock
        taken = table.find(table.ids()).numpy()
        self._end = int(taken.max(initial=_ABSENT)) + 1
        self._free = np.empty(0, np.int64)
        # Places whose ids were unlinked, and when.
        self._resting: collections.deque[tuple[float, np.ndarray]] = collections.deque()
        # An earlier writer may have unlinked places just before it ended.
        self._rest(np.setdiff1d(np.arange(_ABSENT + 1, self._end), taken))

    @property
    def dim(self) -> int:
        """Weights per row."""
        rows = self._table.write.input_signature[1]
        return rows.shape[-1]

    def ids(self) -> np.ndarray:
        """Returns all ids that have rows: int64, in no order."""
        return self._table.ids().numpy()

    def set(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Sets rows, and creates those that are absent.

        Args:
            ids: int64, `(n,)`, each once.
            rows: float32, `(n, dim)`.
        """
        places = self._table.find(ids).numpy()
        absent = places == _ABSENT
        count = np.count_nonzero(absent)
        if count:
            places[absent] = self._take(count)
        self._table.write(places, rows)
        if count:
            self._table.link(ids[absent], places[absent])

    def erase(self, ids: np.ndarray) -> None:
        """Erases the rows of ids; ids without a row are ignored."""
        places = self._table.find(ids).numpy()
        there = places != _ABSENT
        if there.any():
            self._table.unlink(ids[there])
            self._rest(places[there])

    def _take(self, count: int) -> np.ndarray:
        """Returns places that no lookup reads."""
        self._wake_rested()
        reused, self._free = self._free[:count], self._free[count:]
        end = self._end + count - len(reused)
        if end > self._end:
            self._table.grow(end)
        fresh, self._end = np.arange(self._end, end), end
        return np.concatenate([reused, fresh])

    def _rest(self, places: np.ndarray) -> None:
        self._resting.append((self._clock(), places))

    def _wake_rested(self) -> None:
        rested = [self._free]
        while self._resting and self._resting[0][0] + GRACE_SECONDS <= self._clock():
            rested.append(self._resting.popleft()[1])
        self._free = np.concatenate(rested)
