"""The tables of a model, as the changes of shards reach them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from persia_tf import errors
from persia_tf.following import ChangedTable, Changes, shards_of


class WritableTable(Protocol):
    """A table that takes changes, from one thread at a time."""

    @property
    def dim(self) -> int:
        """Weights a row."""

    def set(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Sets rows, `(n, dim)`, each id once."""

    def erase(self, ids: np.ndarray) -> None:
        """Erases the rows of those ids that have one."""

    def ids(self) -> np.ndarray:
        """Returns the ids that have rows."""


class ChangedTables:
    """Applies what shards tell to tables. Thread-safe.

    Args:
        tables: By their full names. Changes of other tables are passed over.
        shards: How many shards the rows live on.
    """

    def __init__(self, tables: Mapping[str, WritableTable], shards: int) -> None:
        self._shards = shards
        self._tables = {name: _Guarded(table) for name, table in tables.items()}

    def of_shard(self, shard: int) -> ShardChanges:
        """Returns what one shard's changes go to."""
        return ShardChanges(
            self._tables, lambda ids: shards_of(ids, self._shards) == shard
        )


class _Guarded:
    """A table, and the lock of who writes to it."""

    def __init__(self, table: WritableTable) -> None:
        self.lock = threading.Lock()
        self.table = table


class ShardChanges:
    """Applies one shard's changes, for one thread: see `ChangedTables.of_shard`."""

    def __init__(
        self,
        tables: Mapping[str, _Guarded],
        is_there: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self._tables = tables
        self._is_there = is_there
        # The ids that it told of each table, while it tells all of them.
        self._told: dict[str, list[np.ndarray]] | None = None

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies what a poll gave.

        Returns:
            How many rows were set, and how many were erased at most.

        Raises:
            PersiaError: if a table's rows are of another size than the model's.
        """
        if changes.begins == "whole":
            self._told = {name: [] for name in self._tables}
        elif changes.begins == "save":
            self._told = None
        rows = erased = 0
        for changed in changes.tables:
            guarded = self._tables.get(changed.name)
            if guarded is None:
                continue
            self._apply_to(guarded, changed)
            rows += len(changed.ids)
            erased += len(changed.erased)
        if changes.complete and self._told is not None:
            erased += sum(map(self._erase_untold, self._told))
            self._told = None
        return rows, erased

    def lost(self) -> None:
        """The shard could not be asked: the tables stay as they are."""

    def _apply_to(self, guarded: _Guarded, changed: ChangedTable) -> None:
        if changed.dim != guarded.table.dim:
            raise errors.FailedPreconditionError(
                f"table '{changed.name}' has rows of {changed.dim} weights on the "
                f"shard, and of {guarded.table.dim} in the model that follows it: "
                "export the model anew"
            )
        if self._told is not None:
            self._told[changed.name].append(changed.ids)
        with guarded.lock:
            if len(changed.ids):
                guarded.table.set(changed.ids, changed.rows)
            if len(changed.erased):
                guarded.table.erase(changed.erased)

    def _erase_untold(self, name: str) -> int:
        """Erases what the shard no longer has; it did not tell when that went."""
        guarded = self._tables[name]
        told = np.concatenate([*self._told[name], np.empty(0, np.int64)])
        with guarded.lock:
            ids = guarded.table.ids()
            gone = np.setdiff1d(ids[self._is_there(ids)], told)
            if len(gone):
                guarded.table.erase(gone)
        return len(gone)
