"""Counts what shards lost that Ray restarted from a checkpoint."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Callable

from persia_tf import errors

_LOGGER = logging.getLogger("persia.ray")

_LOOK_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Loss:
    """What a shard lost when it was restarted.

    Attributes:
        shard: The shard's index.
        address: The `"host:port"` at which it was restarted.
        updates: The maximum number of updates that it lost: those that came after the
            checkpoint from which it recovered. Each step of a training process is one
            update. A process's updates are counted when its first update after the
            restart arrives.
    """

    shard: int
    address: str
    updates: int = 0


class Losses:
    """The losses of all shards, counted by a thread. Thread-safe.

    Args:
        fetch: Returns how many updates the shard at an address has lost.
    """

    def __init__(self, fetch: Callable[[str], int]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._losses: list[Loss] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="persia-ray-losses", daemon=True
        )
        self._thread.start()

    def add(self, shard: int, address: str) -> None:
        """Begins to count what a shard lost that was restarted at `address`."""
        _LOGGER.warning(
            "shard %d was restarted at %s, from the newest checkpoint: updates after "
            "that checkpoint are lost, and are counted as programs go on",
            *(shard, address),
        )
        with self._lock:
            self._losses.append(Loss(shard, address))

    def all(self) -> list[Loss]:
        """Returns the losses in the order of the restarts."""
        with self._lock:
            return list(self._losses)

    def stop(self) -> None:
        """Ends the thread."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            # Only the newest loss of a shard has an address at which it still is.
            newest = {loss.shard: position for position, loss in enumerate(self.all())}
            for position in newest.values():
                if self._stopping.is_set():
                    return
                self._look(position)

    def _look(self, position: int) -> None:
        loss = self.all()[position]
        try:
            updates = self._fetch(loss.address)
        except errors.PersiaError:
            return  # The shard may have been restarted again.
        if updates <= loss.updates:
            return
        _LOGGER.warning(
            "shard %d (%s) lost up to %d updates, which came after its checkpoint",
            *(loss.shard, loss.address, updates),
        )
        with self._lock:
            self._losses[position] = dataclasses.replace(loss, updates=updates)
