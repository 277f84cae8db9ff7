"""Reads units of batches, for the datasets that run in this process."""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from persia_tf.data.reading.handing import BatchBox
from persia_tf.data.remote.recipe import DataSet, prepared
from persia_tf.data.remote.units import firsts_of_units

# A unit of which no batch was asked for in this time is that of a program that ended.
_IDLE_SECONDS = 600.0

# Of this process; another one at the same address has another number.
_PROCESS = secrets.randbits(62)


class _Unit:
    """The batches of a unit from one on, which it begins to read at once.

    Its methods are not thread-safe.
    """

    def __init__(
        self, data: DataSet, epoch: int, first: int, last: int, pool: ThreadPoolExecutor
    ) -> None:
        self._columns = data.columns
        start = data.samples.position([epoch, first])
        runs = data.samples.runs(start, last)
        self._tables = (table for run in runs for table in run.batches())
        self._first: Future[Any] | None = pool.submit(next, self._tables)
        self._left = last - first
        self._box = BatchBox()
        self.asked = time.monotonic()

    def read(self) -> np.ndarray:
        """Returns the place of the next batch."""
        self.asked = time.monotonic()
        first, self._first = self._first, None
        table = next(self._tables) if first is None else first.result()
        self._left -= 1
        return np.array([*self._box.put(self._columns.batch(table)), 0, len(table)])

    @property
    def is_read(self) -> bool:
        """Whether there are no more batches."""
        return not self._left

    def finish(self) -> None:
        """Ends reading, after the last batch, which an op may still have to take."""
        self._tables.close()
        self._box.finish()

    def close(self) -> None:
        """Frees what was not taken."""
        self._box.close()


class _Units:
    """The units that are being read in this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, _Unit] = {}
        self._handles = itertools.count()
        self._pool = ThreadPoolExecutor(2, "persia_data")

    def open(
        self, recipe: bytes, epoch: int, start: int, end: int, number: int
    ) -> tuple[np.ndarray, ...]:
        """Begins to read a unit: see `functions.open_unit`."""
        data = prepared(bytes(recipe))
        firsts = firsts_of_units(data.samples, int(epoch))
        ends = [*firsts[1:], end]
        first = max(firsts[number], int(start))
        last = min(ends[number], int(end))
        unit = _Unit(data, int(epoch), first, last, self._pool)
        with self._lock:
            handle = next(self._handles)
            self._open[handle] = unit
            self._forget_idle()
        return tuple(map(np.int64, (handle, first, last)))

    def read(self, handle: int) -> tuple[np.ndarray, ...]:
        """Returns the next batch of a unit: see `functions.read_batch`."""
        with self._lock:
            unit = self._open[int(handle)]
        place = unit.read()
        if unit.is_read:
            with self._lock:
                del self._open[int(handle)]
            unit.finish()
        return np.int64(_PROCESS), place

    def _forget_idle(self) -> None:
        now = time.monotonic()
        for handle, unit in list(self._open.items()):
            if now - unit.asked > _IDLE_SECONDS:
                self._open.pop(handle).close()


_UNITS = _Units()

open_unit = _UNITS.open
read_batch = _UNITS.read
