"""The copies of hot rows that models which ask shards keep, as changes reach them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from persia_tf.following import Changes
from persia_tf.serving.remote_clients import RemoteClient, remote_clients


class RemoteCopies:
    """Sets right what clients of this process copied of shards. Thread-safe.

    It is about the clients that ask who is followed. Their copies do not grow old while
    all shards are followed. Those from before count no more then: what happened to
    their rows was not told.

    Where all clients ask the same servers, it is about them, whoever is followed. But
    these servers may know of a change later than who is followed, as replicas do, and
    an old row may be copied after the change was told: so their copies grow old.

    Args:
        shards: The addresses of those that are followed.
        servers: The addresses at which they were asked for, such as embedding workers'.
    """

    def __init__(self, shards: Sequence[str], servers: Sequence[str]) -> None:
        self._followed = (tuple(shards), tuple(servers))
        self._lock = threading.Lock()
        self._is_followed = [False] * len(shards)

    def of_shard(self, shard: int) -> ShardCopies:
        """Returns what one shard's changes go to."""
        return ShardCopies(self, shard)

    def tell(self, shard: int, is_followed: bool) -> None:
        """Says whether a shard is followed now."""
        with self._lock:
            self._is_followed[shard] = is_followed
            _followed_clients.tell(self, all(self._is_followed))

    def clients(self) -> list[RemoteClient]:
        """Returns those that it is about."""
        clients = {client: client.stats().addresses for client in remote_clients()}
        if len(set(clients.values())) == 1:
            return list(clients)
        return [each for each, asks in clients.items() if asks in self._followed]

    def clients_of_followed(self) -> set[int]:
        """Returns the numbers of those that ask who is followed."""
        every = (client.stats() for client in remote_clients())
        return {each.number for each in every if each.addresses in self._followed}


class _FollowedClients:
    """Tells each client of this process whether anybody follows for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Which of them follow all of their shards.
        self._following: set[RemoteCopies] = set()
        self._told: set[int] = set()  # Clients, by number.

    def tell(self, copies: RemoteCopies, is_following: bool) -> None:
        """Takes note of one who follows, or does no more."""
        with self._lock:
            if is_following:
                self._following.add(copies)
            else:
                self._following.discard(copies)
            wanted: set[int] = set()
            for each in self._following:
                wanted |= each.clients_of_followed()
            for client in remote_clients():
                number = client.stats().number
                # To be told once more would end its copies.
                if (number in wanted) != (number in self._told):
                    client.set_followed(number in wanted)
            self._told = wanted


_followed_clients = _FollowedClients()


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
        was_emptied = any(table.fate != "stays" for table in changes.tables)
        if changes.begins != "on" or was_emptied:
            self.lost()
        for client in self._copies.clients() if changes.tables else []:
            for table in changes.tables:
                client.refresh(table.name, table.ids, table.rows)
                client.erase(table.name, table.erased)
        if changes.complete:
            self._copies.tell(self._shard, is_followed=True)
        return (
            sum(len(table.ids) for table in changes.tables),
            sum(len(table.erased) for table in changes.tables),
        )

    def lost(self) -> None:
        """Changes come late from now on: copies grow old again."""
        self._copies.tell(self._shard, is_followed=False)
