"""Updates the tables of a model with the changes that shards report."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from persia_tf import errors
from persia_tf.following import ChangedTable, Changes, shards_of


class WritableTable(Protocol):
    """A table whose rows can be changed, by one thread at a time."""

    @property
    def dim(self) -> int:
        """The number of weights per row."""

    def set(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Sets the rows of ids, each of which occurs once; `rows` is `(n, dim)`."""

    def erase(self, ids: np.ndarray) -> None:
        """Erases the rows of ids; ids without a row are ignored."""

    def ids(self) -> np.ndarray:
        """Returns the ids that have rows."""


class ChangedTables:
    """Applies the changes of shards to tables. Thread-safe.

    Args:
        tables: The tables by full name. Changes of other tables are ignored.
        shards: The number of shards over which the rows are spread.
    """

    def __init__(self, tables: Mapping[str, WritableTable], shards: int) -> None:
        self._shards = shards
        self._tables = {name: _Guarded(table) for name, table in tables.items()}

    def of_shard(self, shard: int) -> ShardChanges:
        """Returns the object that applies the changes of one shard."""
        return ShardChanges(self._tables, shard, self._shards)


class _Guarded:
    """A table with the lock that serializes its writers."""

    def __init__(self, table: WritableTable) -> None:
        self.lock = threading.Lock()
        self.table = table


class ShardChanges:
    """Applies one shard's changes. Not thread-safe. See `ChangedTables.of_shard`."""

    def __init__(
        self,
        tables: Mapping[str, _Guarded],
        shard: int,
        shards: int,
    ) -> None:
        self._tables = tables
        self._shard = shard
        self._shards = shards
        # The ids that the shard has sent so far, by table, while it sends all rows of
        # its tables. Once it has sent all rows, its rows with other ids are erased. But
        # a table that the shard did not report keeps its rows: the shard may lack the
        # table, for instance after a start without recovery. These rows stay in use
        # until the shard has the table again, or reports that the table was dropped.
        self._told: dict[str, list[np.ndarray]] = {}

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies the changes that one poll returned.

        Returns:
            The number of rows set, and an upper bound of the number of rows erased.

        Raises:
            PersiaError: if the rows of a table have another dim than in the model, or
                belong to another shard. In this case, nothing is changed.
        """
        for changed in changes.tables:
            self._check(changed)
        if changes.begins == "whole":
            self._told = {name: [] for name in self._tables}
        elif changes.begins == "save":
            self._told = {}
        rows = erased = 0
        for changed in changes.tables:
            guarded = self._tables.get(changed.name)
            if guarded is None:
                continue
            if changed.fate != "stays":
                erased += self._erase_all(guarded)
                self._told.pop(changed.name, None)
            if changed.fate == "dropped":
                continue
            self._apply_to(guarded, changed)
            rows += len(changed.ids)
            erased += len(changed.erased)
        if changes.complete:
            for name in [name for name, ids in self._told.items() if ids]:
                erased += self._erase_untold(name, self._told.pop(name))
        return rows, erased

    def lost(self) -> None:
        """Does nothing: while the shard is unreachable, the tables stay as they are."""

    def _check(self, changed: ChangedTable) -> None:
        guarded = self._tables.get(changed.name)
        if guarded is None:
            return
        if (changed.shard_index, changed.shard_count) != (self._shard, self._shards):
            raise errors.FailedPreconditionError(
                f"the shard that is listed as shard {self._shard} of {self._shards} "
                f"holds table '{changed.name}' as shard {changed.shard_index} of "
                f"{changed.shard_count}: list all shards of the cluster"
            )
        if changed.fate != "dropped" and changed.dim != guarded.table.dim:
            raise errors.FailedPreconditionError(
                f"table '{changed.name}' has rows of {changed.dim} weights on the "
                f"shard, but of {guarded.table.dim} in the model that follows it: "
                "export the model again"
            )

    def _apply_to(self, guarded: _Guarded, changed: ChangedTable) -> None:
        if changed.name in self._told:
            self._told[changed.name].append(changed.ids)
        with guarded.lock:
            if len(changed.ids):
                guarded.table.set(changed.ids, changed.rows)
            if len(changed.erased):
                guarded.table.erase(changed.erased)

    def _erase_untold(self, name: str, told: list[np.ndarray]) -> int:
        """Erases the rows that belong to this shard but that the shard did not send."""
        guarded = self._tables[name]
        with guarded.lock:
            ids = guarded.table.ids()
            gone = np.setdiff1d(ids[self._are_there(ids)], np.concatenate(told))
            if len(gone):
                guarded.table.erase(gone)
        return len(gone)

    def _erase_all(self, guarded: _Guarded) -> int:
        with guarded.lock:
            ids = guarded.table.ids()
            gone = ids[self._are_there(ids)]
            if len(gone):
                guarded.table.erase(gone)
        return len(gone)

    def _are_there(self, ids: np.ndarray) -> np.ndarray:
        return shards_of(ids, self._shards) == self._shard
