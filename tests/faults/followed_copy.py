"""A copy of a cluster's tables that follows its shards."""

from __future__ import annotations

import numpy as np

from persia_tf import following
from persia_tf.native import capi


class _Shard:
    """What one shard has told."""

    def __init__(self, session, number):
        self.follower = following.ShardFollower(session, number)
        self.beginnings = []
        self.slot_epochs = np.zeros(capi.SLOTS, np.uint32)
        self.new_slots = np.zeros(capi.SLOTS, bool)
        self.told = set()  # The keys that were told since their slots are new.

    def note(self, changes):
        """Notes the slots of a reply."""
        moved = changes.slot_epochs != self.slot_epochs
        self.slot_epochs = changes.slot_epochs
        if changes.begins != "on":
            self.beginnings.append(changes.begins)
            moved[:] = True
        self.new_slots = self.new_slots & ~moved | changes.new_slots
        self.told -= set(_keys_in(self.told, moved))


class FollowedCopy:
    """Rows by full table name and id, as followers of all shards were told.

    The shards are polled one after the other, and each reply is applied before the next
    poll. So no reply tells of slots that have moved to another shard before a reply of
    that shard was applied.

    Args:
        cluster: The `Cluster` that is followed.
        shard_count: The number of shards; embedding workers may hide it.
    """

    def __init__(self, cluster, shard_count):
        self.rows = {}
        self.dtypes = {}
        self._session = cluster.session
        self._shards = []
        self.follow(shard_count)

    def follow(self, shard_count):
        """Follows this many shards from now on."""
        for number in range(len(self._shards), shard_count):
            self._shards.append(_Shard(self._session, number))
        del self._shards[shard_count:]

    @property
    def followers(self):
        """The `ShardFollower` of each shard."""
        return [shard.follower for shard in self._shards]

    @property
    def beginnings(self):
        """How the epochs of each shard's changes began."""
        return [shard.beginnings for shard in self._shards]

    def poll(self, shard, **options):
        """Applies the changes that one shard tells; returns them."""
        shard = self._shards[shard]
        changes = shard.follower.poll(**options)
        shard.note(changes)
        for table in changes.tables:
            if table.fate != "stays":
                self._drop_all(table.name, shard, changes.slots)
            if table.fate != "dropped":
                self._apply(table, shard)
        if changes.complete:
            for name, row_id in list(_keys_in(self._keys(), shard.new_slots)):
                if (name, row_id) not in shard.told:
                    self.rows[name].pop(row_id)
            shard.new_slots[:] = False
            shard.told.clear()
        return changes

    def catch_up(self, **options):
        """Applies all changes that the shards have to tell; returns how many ids."""
        told = 0
        for shard in range(len(self._shards)):
            while True:
                changes = self.poll(shard, **options)
                told += sum(len(t.ids) + len(t.erased) for t in changes.tables)
                if changes.complete:
                    break
        return told

    def _apply(self, table, shard):
        rows = self.rows.setdefault(table.name, {})
        self.dtypes[table.name] = table.row_dtype
        assert table.rows.shape == (len(table.ids), table.dim)
        for row_id in table.erased.tolist():
            rows.pop(row_id, None)
        for row_id, row in zip(table.ids.tolist(), table.rows.tolist()):
            rows[row_id] = row
            shard.told.add((table.name, row_id))

    def _drop_all(self, name, shard, slots):
        for key in [key for key in _keys_in(self._keys(), slots) if key[0] == name]:
            self.rows[name].pop(key[1])
            shard.told.discard(key)

    def _keys(self):
        return [(name, row_id) for name, rows in self.rows.items() for row_id in rows]


def _keys_in(keys, slots):
    keys = list(keys)
    ids = [row_id for _, row_id in keys]
    for key, is_there in zip(keys, slots[following.slots_of(ids)]):
        if is_there:
            yield key
