"""The copies of hot rows that models which ask shards keep, as changes reach them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator

from persia_tf import _native, native_arrays
from persia_tf.following import Changes


class RemoteCopies:
    """Sets right what clients of this process copied of shards. Thread-safe.

    While all shards are followed, copies do not grow old. Those from before count no
    more once they are: what happened to their rows was not told.

    Args:
        shards: How many are followed.
    """

    def __init__(self, shards: int) -> None:
        self._lock = threading.Lock()
        self._followed = [False] * shards

    def of_shard(self, shard: int) -> ShardCopies:
        """Returns what one shard's changes go to."""
        return ShardCopies(self, shard)

    def tell(self, shard: int, followed: bool) -> None:
        """Tells all clients whether copies are followed now, as this shard is."""
        with self._lock:
            self._followed[shard] = followed
            for client in _clients():
                _native.library().persia_remote_set_followed(
                    client, all(self._followed)
                )


class ShardCopies:
    """Applies one shard's changes, for one thread: see `RemoteCopies.of_shard`."""

    def __init__(self, copies: RemoteCopies, shard: int) -> None:
        self._copies = copies
        self._shard = shard

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies what a poll gave.

        Returns:
            How many rows were set at most, and how many were erased.
        """
        if changes.begins != "on":
            self.lost()
        rows = erased = 0
        for table in changes.tables:
            name = _native.utf8(table.name)
            for client in _clients():
                _native.library().persia_remote_refresh(
                    *(client, name, table.dim),
                    *native_arrays.ids(table.ids),
                    native_arrays.floats(table.rows),
                )
                _native.library().persia_remote_erase(
                    client, name, *native_arrays.ids(table.erased)
                )
            rows += len(table.ids)
            erased += len(table.erased)
        if changes.complete:
            self._copies.tell(self._shard, followed=True)
        return rows, erased

    def lost(self) -> None:
        """The shard could not be asked: copies grow old again."""
        self._copies.tell(self._shard, followed=False)


def _clients() -> Iterator[_native.RemoteHandle]:
    """The clients of this process, each while it is looked at."""
    number = 0
    while True:
        client = _native.RemoteHandle()
        _native.library().persia_remote_next(number, ctypes.byref(client))
        if not client:
            return
        try:
            counters = _native.RemoteCounters()
            _native.library().persia_remote_get_counters(client, ctypes.byref(counters))
            number = counters.number
            yield client
        finally:
            _native.library().persia_remote_free(client)
