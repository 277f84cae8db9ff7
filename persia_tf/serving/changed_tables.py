"""Updates the tables of a model with the changes that shards report."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from persia_tf import errors
from persia_tf.following import ChangedTable, Changes, slots_of
from persia_tf.native import capi


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

    Shards may be polled by different threads while slots move between them: what a
    reply says of slots that have moved since it was made is ignored.

    Args:
        tables: The tables by full name. Changes of other tables are ignored.
    """

    def __init__(self, tables: Mapping[str, WritableTable]) -> None:
        self._tables = {name: _Guarded(table) for name, table in tables.items()}
        self._newest = _NewestSlots()

    def of_shard(self) -> ShardChanges:
        """Returns an object that applies the changes of one shard."""
        return ShardChanges(self._tables, self._newest)


class _Guarded:
    """A table with the lock that serializes its writers."""

    def __init__(self, table: WritableTable) -> None:
        self.lock = threading.Lock()
        self.table = table


class _NewestSlots:
    """The newest epoch of each slot of which any shard has told. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cluster = 0
        self._former_clusters = {0}
        self._epochs = np.zeros(capi.SLOTS, np.uint32)

    def note(self, changes: Changes) -> None:
        """Notes the slots of a reply, before any of the reply is applied."""
        with self._lock:
            # If all shards were started anew without their rows, they form another
            # cluster, whose epochs start from 1.
            if changes.cluster not in {self._cluster, *self._former_clusters}:
                self._former_clusters.add(self._cluster)
                self._cluster = changes.cluster
                self._epochs[:] = 0
            if changes.cluster in (0, self._cluster):
                np.maximum(self._epochs, changes.slot_epochs, out=self._epochs)

    def current(self, changes: Changes) -> np.ndarray:
        """Returns of which slots the shard of a reply is the newest owner so far.

        bool, `(16384,)`. Callers hold the lock of the table to which they apply the
        reply: so once a reply of a newer owner was applied to a table, that of a former
        owner no longer is.
        """
        with self._lock:
            if changes.cluster not in (0, self._cluster):
                return np.zeros(capi.SLOTS, bool)
            return changes.slots & (changes.slot_epochs == self._epochs)


class ShardChanges:
    """Applies one shard's changes. Not thread-safe. See `ChangedTables.of_shard`."""

    def __init__(self, tables: Mapping[str, _Guarded], newest: _NewestSlots) -> None:
        self._tables = tables
        self._newest = newest
        self._slot_epochs = np.zeros(capi.SLOTS, np.uint32)  # Of the last reply.
        # The slots of which the shard sends all rows. Once it has sent them, the
        # table's other rows of these slots are erased. But a table that the shard did
        # not report keeps its rows: the shard may lack the table, for instance after a
        # start without recovery. These rows stay in use until the shard has the table
        # again, or reports that the table was dropped.
        self._new_slots = {name: np.zeros(capi.SLOTS, bool) for name in tables}
        # The tables that the shard has reported, with the ids that it has sent since
        # they had new slots.
        self._told: dict[str, list[np.ndarray]] = {}

    def apply(self, changes: Changes) -> tuple[int, int]:
        """Applies the changes that one poll returned.

        Returns:
            The number of rows set, and an upper bound of the number of rows erased.

        Raises:
            PersiaError: if the rows of a table have another dim than in the model. In
                this case, nothing is changed.
        """
        for changed in changes.tables:
            self._check(changed)
        self._newest.note(changes)
        self._note_slots(changes)
        rows = erased = 0
        for changed in changes.tables:
            guarded = self._tables.get(changed.name)
            if guarded is None:
                continue
            if changed.fate != "stays":
                erased += self._erase_all(guarded, changes)
                self._told.pop(changed.name, None)
                self._new_slots[changed.name][:] = False
            if changed.fate == "dropped":
                continue
            self._apply_to(guarded, changed, changes)
            rows += len(changed.ids)
            erased += len(changed.erased)
        if changes.complete:
            for name in self._told:
                erased += self._erase_untold(name, changes)
        return rows, erased

    def lost(self) -> None:
        """Does nothing: while the shard is unreachable, the tables stay as they are."""

    def leave(self) -> None:
        """Does nothing: the rows of a shard that has left are now those of others."""

    def _check(self, changed: ChangedTable) -> None:
        guarded = self._tables.get(changed.name)
        if guarded is None:
            return
        if changed.fate != "dropped" and changed.dim != guarded.table.dim:
            raise errors.FailedPreconditionError(
                f"table '{changed.name}' has rows of {changed.dim} weights on the "
                f"shard, but of {guarded.table.dim} in the model that follows it: "
                "export the model again"
            )

    def _note_slots(self, changes: Changes) -> None:
        moved = changes.slot_epochs != self._slot_epochs
        self._slot_epochs = changes.slot_epochs
        if changes.begins != "on":
            self._told = {}
            moved[:] = True
        if moved.any():
            # What the shard has sent when it owned these slots before does not count.
            for name, told in self._told.items():
                self._told[name] = [ids[~moved[slots_of(ids)]] for ids in told]
            for new_slots in self._new_slots.values():
                new_slots &= ~moved
        for new_slots in self._new_slots.values():
            new_slots |= changes.new_slots

    def _apply_to(
        self, guarded: _Guarded, changed: ChangedTable, changes: Changes
    ) -> None:
        told = self._told.setdefault(changed.name, [])
        if self._new_slots[changed.name].any():
            told.append(changed.ids)
        with guarded.lock:
            current = self._newest.current(changes)
            stays = current[slots_of(changed.ids)]
            if stays.any():
                guarded.table.set(changed.ids[stays], changed.rows[stays])
            erased = changed.erased[current[slots_of(changed.erased)]]
            if len(erased):
                guarded.table.erase(erased)

    def _erase_untold(self, name: str, changes: Changes) -> int:
        """Erases the rows of new slots that the shard did not send."""
        new_slots, told = self._new_slots[name], self._told[name]
        if not new_slots.any():
            return 0
        guarded = self._tables[name]
        with guarded.lock:
            ids = guarded.table.ids()
            ids = ids[(new_slots & self._newest.current(changes))[slots_of(ids)]]
            gone = np.setdiff1d(ids, np.concatenate(told)) if told else ids
            if len(gone):
                guarded.table.erase(gone)
        new_slots[:] = False
        told.clear()
        return len(gone)

    def _erase_all(self, guarded: _Guarded, changes: Changes) -> int:
        with guarded.lock:
            ids = guarded.table.ids()
            gone = ids[self._newest.current(changes)[slots_of(ids)]]
            if len(gone):
                guarded.table.erase(gone)
        return len(gone)
