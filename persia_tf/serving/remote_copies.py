"""Updates the copies of hot rows that remote exports hold, as the rows change."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from persia_tf.following import Changes
from persia_tf.native import capi
from persia_tf.serving.remote_clients import RemoteClient, remote_clients

_NO_SLOTS = np.zeros(capi.SLOTS, bool)


class RemoteCopies:
    """Updates the copies of rows that clients in this process hold. Thread-safe.

    A client is updated if it looks up rows on the followed shards or servers. Copies
    that such a client makes while the owners of all slots are followed do not expire.
    Its older copies still expire, since changes of their rows may have been missed.
    When slots move to another shard, changes just before may be missed: so all copies
    from before then expire.

    If all clients use the same servers, but other servers are followed, the clients are
    updated too. In that case their copies always expire: the clients' servers, for
    instance replicas, may receive a change later than the follower, so a client may
    copy the old row after it was notified of the change.

    Args:
        servers: The addresses with which the followed cluster was created
            (`Cluster.shards`): those of shards, or those of embedding workers in front
            of the shards.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        self._servers = tuple(servers)
        self._lock = threading.Lock()
        self._shards: frozenset[str] = frozenset()
        # The slots that each followed shard owns; none while it is not followed.
        self._followed: dict[ShardCopies, np.ndarray] = {}

    def use_shards(self, shards: Sequence[str]) -> None:
        """Adds the addresses of shards that the cluster has, or had."""
        with self._lock:
            self._shards |= frozenset(shards)

    def of_shard(self) -> ShardCopies:
        """Returns an object that applies the changes of one more shard."""
        shard = ShardCopies(self)
        self.tell(shard, _NO_SLOTS)
        return shard

    def tell(self, shard: ShardCopies, slots: np.ndarray) -> None:
        """Records which slots are followed through a shard now: bool, `(16384,)`."""
        with self._lock:
            self._followed[shard] = slots
            self._tell_clients()

    def remove(self, shard: ShardCopies) -> None:
        """Forgets a shard that has left the cluster."""
        with self._lock:
            self._followed.pop(shard, None)
            self._tell_clients()

    def _tell_clients(self) -> None:
        followed = list(self._followed.values())
        is_followed = bool(followed) and bool(np.logical_or.reduce(followed).all())
        _followed_clients.tell(self, is_followed)

    def clients(self) -> list[RemoteClient]:
        """Returns the clients whose copies must be updated."""
        clients = {client: client.stats().addresses for client in remote_clients()}
        if len(set(clients.values())) == 1:
            return list(clients)
        return [each for each, asks in clients.items() if self._follows(asks)]

    def clients_of_followed(self) -> set[int]:
        """Returns the numbers of the clients of the followed shards or servers."""
        every = (client.stats() for client in remote_clients())
        return {each.number for each in every if self._follows(each.addresses)}

    def _follows(self, addresses: Sequence[str]) -> bool:
        # A client of some shards of a cluster finds the others.
        return addresses == self._servers or self._shards.issuperset(addresses)


class _FollowedClients:
    """Notifies each client in this process of whether its shards are followed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # The `RemoteCopies` that follow all of their shards now.
        self._following: set[RemoteCopies] = set()
        self._told: set[int] = set()  # Numbers of clients whose shards are followed.

    def tell(self, copies: RemoteCopies, is_following: bool) -> None:
        """Records whether `copies` follows all of its shards; notifies the clients."""
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
                # Clients are notified only of a change, since a repeated call would let
                # the present copies expire.
                if (number in wanted) != (number in self._told):
                    client.set_followed(number in wanted)
            self._told = wanted


_followed_clients = _FollowedClients()


class ShardCopies:
    """Applies one shard's changes. Not thread-safe. See `RemoteCopies.of_shard`."""

    def __init__(self, copies: RemoteCopies) -> None:
        self._copies = copies
        self._slot_epochs = np.zeros(capi.SLOTS, np.uint32)  # Of the last reply.

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies the changes that one poll returned.

        Returns:
            The number of changed rows and the number of erased rows, whether a client
            has copies of them or not.
        """
        was_emptied = any(table.fate != "stays" for table in changes.tables)
        has_moved = (changes.slot_epochs != self._slot_epochs).any()
        self._slot_epochs = changes.slot_epochs
        if changes.begins != "on" or was_emptied or has_moved:
            self.lost()
        for client in self._copies.clients() if changes.tables else []:
            for table in changes.tables:
                client.refresh(table.name, table.ids, table.rows)
                client.erase(table.name, table.erased)
        if changes.complete:
            self._copies.tell(self, changes.slots)
        return (
            sum(len(table.ids) for table in changes.tables),
            sum(len(table.erased) for table in changes.tables),
        )

    def lost(self) -> None:
        """Lets copies expire again, since changes may arrive late from now on."""
        self._copies.tell(self, _NO_SLOTS)

    def leave(self) -> None:
        """Forgets the shard, which has left the cluster."""
        self._copies.remove(self)
