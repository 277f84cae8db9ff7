"""Hands out each batch once and in order, whatever becomes of the data workers."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from absl import logging

from persia_tf.data.remote.deliveries import Deliveries, Delivery, End

# After an error of the data workers, they are asked again only this much later.
_PAUSE_SECONDS = 5.0


class InOrder:
    """The batches of an epoch, from data workers that deliver them in any order.

    A worker reads the batches of a unit one after the other. tf.data service hands
    units to workers in their order, and hands out none again if its worker ends. So a
    batch may never come. It is read here instead, with the rest of its unit, if

    - the deliveries have ended,
    - batches of more later units are here than there are workers, so that the batch is
      lost, or its worker slow, or
    - no batch has come for `patience` seconds.

    A batch that comes after that is dropped. So what is handed out depends on nothing
    but the order of the epoch; only who reads it does.

    Args:
        firsts: The number of the first batch of each unit.
        request: Returns deliveries, given the first batch that is wanted.
        read_here: Yields the number and the tensors of the batches of an epoch from one
            number on and before another one.
        patience: In seconds.
    """

    def __init__(
        self,
        firsts: Sequence[int],
        request: Callable[[int], Deliveries],
        read_here: Callable[[int, int], Iterator[tuple[int, Any]]],
        patience: float,
    ) -> None:
        self._firsts = firsts
        self._request = request
        self._read_here = read_here
        self._here: Iterator[tuple[int, Any]] | None = None
        self._patience = patience
        self._waiting: dict[int, Any] = {}
        self._deliveries: Deliveries | None = None
        self._processes: set[int] = set()
        self._is_silent = False
        self._asked = 0.0

    def batches(self, start: int, end: int) -> Iterator[tuple[int, Any]]:
        """Yields the number and the tensors of each batch.

        Args:
            start: The number of the first batch.
            end: The number of the batch before which to stop.
        """
        self._ask(start)
        try:
            for batch in range(start, end):
                while batch not in self._waiting:
                    self._wait_for(batch, end)
                yield batch, self._waiting.pop(batch)
        finally:
            if self._deliveries is not None:
                self._deliveries.close()

    def _wait_for(self, batch: int, end: int) -> None:
        """Takes a delivery, or reads the batch here."""
        if self._here is not None and self._take_here(batch):
            return
        if self._deliveries is None or self._is_late(batch):
            self._read_here_from(batch, end)
            return
        delivery = self._deliveries.take(0.0 if self._is_silent else self._patience)
        if isinstance(delivery, Delivery):
            self._is_silent = False
            self._processes.add(delivery.process)
            if delivery.batch >= batch:
                self._waiting.setdefault(delivery.batch, delivery.tensors)
        elif isinstance(delivery, End):
            self._deliveries = None
            self._note_end(delivery)
        else:
            if not self._is_silent:
                logging.warning(
                    "no data worker has sent a batch for %g seconds: this program "
                    "reads the files itself until one does",
                    self._patience,
                )
            self._is_silent = True
            self._read_here_from(batch, end)

    def _is_late(self, batch: int) -> bool:
        """Returns whether batches of too many later units have come."""
        if not self._waiting:
            return False
        newest = self._unit_of(max(self._waiting))
        return newest - self._unit_of(batch) > len(self._processes) + 1

    def _read_here_from(self, batch: int, end: int) -> None:
        """Begins to read here what is missing of a batch's unit."""
        unit = self._unit_of(batch)
        last = self._firsts[unit + 1] if unit + 1 < len(self._firsts) else end
        self._here = self._read_here(batch, min(last, end))
        if self._deliveries is None and time.monotonic() > self._asked + _PAUSE_SECONDS:
            self._ask(min(last, end))

    def _take_here(self, batch: int) -> bool:
        """Takes the next batch that is read here; returns whether there was one."""
        for number, tensors in self._here or ():
            if number >= batch:
                self._waiting.setdefault(number, tensors)
            return True
        self._here = None
        return False

    def _ask(self, first: int) -> None:
        self._asked = time.monotonic()
        self._deliveries = self._request(first)

    def _note_end(self, end: End) -> None:
        if end.error is None:
            # What has not come was lost with its worker: there is no one to ask.
            self._asked = float("inf")
        else:
            logging.warning(
                "the data workers failed, so this program reads the files itself, and "
                "asks them again after %g seconds: %s",
                *(_PAUSE_SECONDS, end.error),
            )

    def _unit_of(self, batch: int) -> int:
        return bisect.bisect_right(self._firsts, batch) - 1
