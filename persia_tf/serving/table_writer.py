"""Changes the tables of a standalone export while it serves."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from persia_tf.serving.served_table import ABSENT

# For how many seconds a place is not reused after its id was unlinked. A lookup first
# finds the place of a row and then reads the row: if another id got the place in
# between, the lookup would read the wrong row.
GRACE_SECONDS = 60.0


class TableWriter:
    """Sets and erases rows of a table in a loaded SavedModel.

    Lookups may run meanwhile: they see each row as it was before or after a change.
    Only one thread may write at a time.

    Args:
        table: A `ServedTable` as loaded by `tf.saved_model.load`. `ServedTable`
            documents its functions.
        clock: Returns a monotonic time in seconds.
    """

    def __init__(self, table: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._table = table
        self._clock = clock
        taken = table.find(table.ids()).numpy()
        self._end = int(taken.max(initial=ABSENT)) + 1
        self._free = np.empty(0, np.int64)
        # Places whose ids were unlinked, with the time at which this happened.
        self._resting: collections.deque[tuple[float, np.ndarray]] = collections.deque()
        # All unused places must first wait, since an earlier writer may have unlinked
        # their ids just before it was closed.
        self._rest(np.setdiff1d(np.arange(ABSENT + 1, self._end), taken))

    @property
    def dim(self) -> int:
        """The number of weights per row."""
        rows = self._table.write.input_signature[1]
        return rows.shape[-1]

    def ids(self) -> np.ndarray:
        """Returns all ids that have rows: int64, in no particular order."""
        return self._table.ids().numpy()

    def set(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Sets the rows of ids, and creates rows that are absent.

        Args:
            ids: The ids, each of which occurs once: int64, `(n,)`.
            rows: The new rows: float32, `(n, dim)`.
        """
        places = self._table.find(ids).numpy()
        absent = places == ABSENT
        count = np.count_nonzero(absent)
        if count:
            places[absent] = self._take(count)
        self._table.write(places, rows)
        if count:
            self._table.link(ids[absent], places[absent])

    def erase(self, ids: np.ndarray) -> None:
        """Erases the rows of ids; ids without a row are ignored."""
        places = self._table.find(ids).numpy()
        there = places != ABSENT
        if there.any():
            self._table.unlink(ids[there])
            self._rest(places[there])

    def _take(self, count: int) -> np.ndarray:
        """Returns free places, which no lookup reads any more."""
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
