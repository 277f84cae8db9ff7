"""The copies of hot rows that models which ask shards keep, as changes reach them."""

from __future__ import annotations

import threading

from persia_tf.following import Changes
from persia_tf.serving.remote_clients import remote_clients


class RemoteCopies:
    """Sets right what the clients of this process copied of shards. Thread-safe.

    While all shards are followed, copies do not grow old. Those from before count no
    more then: what happened to their rows was not told.

    Args:
        shards: How many are followed.
    """

    def __init__(self, shards: int) -> None:
        self._lock = threading.Lock()
        self._followed = [False] * shards
        self._told: dict[int, bool] = {}

    def of_shard(self, shard: int) -> ShardCopies:
        """Returns what one shard's changes go to."""
        return ShardCopies(self, shard)

    def tell(self, shard: int, followed: bool) -> None:
        """Tells every client whether copies are followed, now that this shard is."""
        with self._lock:
            self._followed[shard] = followed
            all_are = all(self._followed)
            for client in remote_clients():
                number = client.stats().number
                # To be told once more would end its copies.
                if self._told.get(number) != all_are:
                    client.set_followed(all_are)
                    self._told[number] = all_are


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
        for client in remote_clients() if changes.tables else []:
            for table in changes.tables:
                client.refresh(table.name, table.ids, table.rows)
                client.erase(table.name, table.erased)
        if changes.complete:
            self._copies.tell(self._shard, followed=True)
        return (
            sum(len(table.ids) for table in changes.tables),
            sum(len(table.erased) for table in changes.tables),
        )

    def lost(self) -> None:
        """Changes come late from now on: copies grow old again."""
        self._copies.tell(self._shard, followed=False)
