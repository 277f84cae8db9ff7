"""Applies the changes of shards to the copies of hot rows that remote models keep."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from persia_tf.following import Changes
from persia_tf.serving.remote_clients import RemoteClient, remote_clients


class RemoteCopies:
    """Updates the copies of rows that clients in this process hold. Thread-safe.

    Updates the clients that ask the followed shards or servers. Their copies do not
    expire while all shards are followed. Copies from before still do, since changes of
    their rows may have been missed.

    If all clients ask the same servers, it updates them even if these servers are not
    the followed ones. But such servers, for instance replicas, may get a change later
    than the follower, so that a client copies the old row after it was notified of the
    change. Therefore the copies of these clients still expire.

    Args:
        shards: The addresses of the followed shards.
        servers: The addresses that the followed cluster was given, such as those of
            embedding workers.
    """

    def __init__(self, shards: Sequence[str], servers: Sequence[str]) -> None:
        self._followed = (tuple(shards), tuple(servers))
        self._lock = threading.Lock()
        self._is_followed = [False] * len(shards)

    def of_shard(self, shard: int) -> ShardCopies:
        """Returns the object that applies the changes of one shard."""
        return ShardCopies(self, shard)

    def tell(self, shard: int, is_followed: bool) -> None:
        """Records whether a shard is followed now."""
        with self._lock:
            self._is_followed[shard] = is_followed
            _followed_clients.tell(self, all(self._is_followed))

    def clients(self) -> list[RemoteClient]:
        """Returns the clients to update."""
        clients = {client: client.stats().addresses for client in remote_clients()}
        if len(set(clients.values())) == 1:
            return list(clients)
        return [each for each, asks in clients.items() if asks in self._followed]

    def clients_of_followed(self) -> set[int]:
        """Returns the numbers of clients that ask the followed shards or servers."""
        every = (client.stats() for client in remote_clients())
        return {each.number for each in every if each.addresses in self._followed}


class _FollowedClients:
    """Tells each client in this process whether its shards are followed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Those that follow all of their shards.
        self._following: set[RemoteCopies] = set()
        self._told: set[int] = set()  # The numbers of clients told so.

    def tell(self, copies: RemoteCopies, is_following: bool) -> None:
        """Records that `copies` follows all of its shards, or no longer does."""
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
                # A repeated call would let the copies that it has expire.
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
        """Applies the changes that one poll returned.

        Returns:
            The number of rows changed, copied or not, and the number erased.
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
        """Lets copies expire again, since changes may arrive late from now on."""
        self._copies.tell(self._shard, is_followed=False)
