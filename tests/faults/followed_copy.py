"""A copy of a cluster's tables that follows its shards."""

from __future__ import annotations

from persia_tf import following


class FollowedCopy:
    """Rows by full table name and id, as followers of all shards were told.

    Args:
        cluster: The `Cluster` that is followed.
        shard_count: The number of shards; embedding workers may hide it.
    """

    def __init__(self, cluster, shard_count):
        self.rows = {}
        self.dtypes = {}
        self.followers = [
            following.ShardFollower(cluster.session, shard)
            for shard in range(shard_count)
        ]
        self.beginnings = [[] for _ in self.followers]
        self._old = [set() for _ in self.followers]

    def poll(self, shard, **options):
        """Applies the changes that one shard tells; returns them."""
        changes = self.followers[shard].poll(**options)
        if changes.begins != "on":
            self.beginnings[shard].append(changes.begins)
            self._old[shard] = set()
        if changes.begins == "whole":
            self._old[shard] = set(self._keys_of(shard))
        for table in changes.tables:
            if table.fate != "stays":
                self._drop_all(table.name, shard)
            if table.fate != "dropped":
                self._apply(table, self._old[shard])
        if changes.complete:
            for name, row_id in self._old[shard]:
                self.rows[name].pop(row_id, None)
            self._old[shard] = set()
        return changes

    def catch_up(self, **options):
        """Applies all changes that the shards have to tell; returns how many ids."""
        told = 0
        for shard in range(len(self.followers)):
            while True:
                changes = self.poll(shard, **options)
                told += sum(len(t.ids) + len(t.erased) for t in changes.tables)
                if changes.complete:
                    break
        return told

    def _apply(self, table, old):
        rows = self.rows.setdefault(table.name, {})
        self.dtypes[table.name] = table.row_dtype
        assert table.rows.shape == (len(table.ids), table.dim)
        for row_id in table.erased.tolist():
            rows.pop(row_id, None)
        for row_id, row in zip(table.ids.tolist(), table.rows.tolist()):
            rows[row_id] = row
            old.discard((table.name, row_id))

    def _drop_all(self, name, shard):
        for key in [key for key in self._keys_of(shard) if key[0] == name]:
            self.rows[name].pop(key[1])
            self._old[shard].discard(key)

    def _keys_of(self, shard):
        for name, rows in self.rows.items():
            ids = list(rows)
            for row_id, owner in zip(ids, following.shards_of(ids, self._count)):
                if owner == shard:
                    yield name, row_id

    @property
    def _count(self):
        return len(self.followers)
