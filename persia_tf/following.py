"""Following shards: receiving each row that changes and each id that loses its row.

A program that needs its own copy of the rows, such as a prediction server or an
index, follows each shard of a cluster while training continues. See
docs/following.md.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import secrets
from typing import Any, NamedTuple

import numpy as np

from persia_tf import errors
from persia_tf.base import checks
from persia_tf.client import row_checks
from persia_tf.client.session import Session
from persia_tf.native import arrays, capi

__all__ = ["ChangedTable", "Changes", "Position", "ShardFollower", "slots_of"]

# The values of `Changes.begins`, in the order of the core's numbers for them.
_BEGINS = ("on", "save", "whole")
_FATES = ("stays", "cleared", "dropped")

_MOST_ROWS = 2**24

NOW = 2**64 - 1
"""A value of `base_save`: the follower needs no rows from before its start."""


class Position(NamedTuple):
    """A follower's position. Save it together with the rows that were applied.

    Attributes:
        follower: A random number that identifies the follower.
        epoch: The epoch of the last changes that were applied. Each time the follower
            restarts from a save or from all rows, a new epoch begins.
        version: The number, within the epoch, of the last changes that were applied; 0
            if none were.
        base_save: The number of the newest checkpoint whose rows the follower is known
            to have; 0 if there is no such checkpoint; `NOW` if the follower needs no
            rows from before its start.
    """

    follower: int
    epoch: int = 0
    version: int = 0
    base_save: int = 0


@dataclasses.dataclass(frozen=True)
class ChangedTable:
    """What changed in one table. Each id occurs once.

    Attributes:
        name: The table's full name, with its namespace.
        dim: Weights per row.
        row_dtype: The core's name of the dtype in which the shard stores rows.
        ids: int64, `(n,)`: the ids whose rows were created, trained or set.
        rows: float32, `(n, dim)`: the rows of `ids`, as of when the shard read them.
        erased: int64, `(m,)`: ids that have no row any more.
        fate: `"stays"` if the table still exists; `"cleared"` if all its rows on this
            shard were removed before the rows in `rows` were created; `"dropped"` if
            the table itself was removed. A dropped table is not reported again unless
            it is created again, maybe with other settings.
    """

    name: str
    dim: int
    row_dtype: str
    ids: np.ndarray
    rows: np.ndarray
    erased: np.ndarray
    fate: str = "stays"


@dataclasses.dataclass(frozen=True)
class Changes:
    """What `ShardFollower.poll` returns.

    Attributes:
        begins: `"on"` if these changes continue from the previous ones. Otherwise these
            are the first changes of a new epoch: `"save"` if the epoch starts from a
            checkpoint that the follower has, or from now; `"whole"` if it starts with
            all rows.
        complete: Whether the follower now has every change that preceded the call.
        tables: A `ChangedTable` for each table with changes, and for each table that
            was not reported before in this epoch. It has only rows whose slots are in
            `slots`.
        slot_epochs: uint32, `(16384,)`: for each slot that the shard owns, how many
            shards have owned it so far, this one included; 0 for other slots. When
            slots move, the reply of the former owner may arrive after that of the new
            one: of two replies, that with the higher number is newer. `slots_of`
            returns the slots of ids.
        new_slots: bool, `(16384,)`: the slots of which this shard had not sent all rows
            before this reply. Once `complete` is true, the follower must drop the rows
            of these slots, and of the new slots of the replies before, that none of
            these replies contained.
        cluster: The number of the shard's cluster; 0 if it belongs to none. Slot epochs
            of different clusters have nothing to do with each other.
    """

    begins: str
    complete: bool
    tables: list[ChangedTable]
    slot_epochs: np.ndarray
    new_slots: np.ndarray
    cluster: int = 0

    @property
    def slots(self) -> np.ndarray:
        """bool, `(16384,)`: whether the shard owns each slot, as of this reply."""
        return self.slot_epochs > 0


class ShardFollower:
    """Follows one shard of a cluster. Not thread-safe.

    The shard records the ids that change until the follower polls. It accepts 64
    followers. It forgets a follower on `close`, or after 10 minutes without a `poll`; a
    forgotten follower that polls again starts a new epoch.

    Example:

    ```python
    cluster = ptf.Cluster()
    with ptf.following.ShardFollower(cluster.session, 0) as follower:
        while serving:
            changes = follower.poll()
            for table in changes.tables:
                rows.update(zip(table.ids, table.rows))
            if changes.complete:
                time.sleep(1)
    ```

    Args:
        session: A `Cluster`'s `session`.
        shard: The shard's number, from 0, in the order of the cluster's list. If the
            cluster lists embedding workers, in the order of the workers' own list of
            shards. If shards join or leave the cluster, another shard may get the
            number; the follower then starts a new epoch.
        position: The `position` of an earlier follower, from which to continue. If
            None, a new follower starts. Defaults to None.
        base_save: Only for a new follower. The number of a checkpoint whose rows the
            caller already has; `0` if the caller has no rows; or `NOW` if the caller
            needs only changes that happen after an epoch begins, in the first epoch
            and in later ones. Defaults to `0`.
        member: The shard's id: `member` of its `ptf.Cluster.shard_stats()`. The
            follower then follows this shard only, whatever its number is. If 0, it
            follows the shard that has the number `shard`. Defaults to `0`.
    """

    def __init__(
        self,
        session: Session,
        shard: int,
        position: Position | None = None,
        base_save: int = 0,
        member: int = 0,
    ) -> None:
        self._member = checks.integer("member", member, 0, 2**64 - 1)
        shard = checks.integer("shard", shard, 0, 2**32 - 1)
        base_save = checks.integer("base_save", base_save, 0, 2**64 - 1)
        self._key = capi.utf8(session.name)
        self._shard = shard
        if position is None:
            follower = secrets.randbelow(2**64 - 1) + 1
            position = Position(follower, base_save=base_save)
        self._position = capi.FollowPosition(*position)

    @property
    def position(self) -> Position:
        """The position to save once the last changes from `poll` have been applied."""
        fields = self._position._fields_
        return Position(*(getattr(self._position, name) for name, *_ in fields))

    def begin_anew(self) -> None:
        """Starts a new epoch. Call it if the last changes could not be applied.

        The next `poll` begins with all rows; if `base_save` was `NOW`, it begins with
        the changes from now on.
        """
        # The follower keeps its number, so that the shard does not count it as a second
        # follower.
        follower, base_save = self._position.follower, self._position.base_save
        self._position = capi.FollowPosition(
            *Position(follower, base_save=NOW if base_save == NOW else 0)
        )

    def poll(self, max_rows: int = 65536) -> Changes:
        """Returns what changed since the last call, without waiting for a change.

        Each call acknowledges that the changes from the previous call were applied. If
        `poll` raises, call it again: nothing is lost.

        Args:
            max_rows: The approximate limit on the number of rows and erased ids in one
                reply, from 1 to 2**24. If rows are large, a reply has fewer. Defaults
                to `65536`.

        Returns:
            The `Changes`, which may be empty.

        Raises:
            TypeError: if `max_rows` is not an integer.
            ValueError: if `max_rows` is out of its range.
            InvalidArgumentError: if there is no such shard.
            NotFoundError: if the shard `member` has left the cluster.
            PersiaError: if the shard does not answer in time, or if the shard has too
                many followers (code 8).
        """
        max_rows = checks.integer("max_rows", max_rows, 1, _MOST_ROWS)
        changes, position = self._ask(max_rows)
        # The position advances only after the call has succeeded.
        self._position = position
        return changes

    def close(self) -> None:
        """Makes the shard forget the follower and the changes recorded for it.

        If the shard does not answer, nothing is raised: the shard forgets the follower
        after 10 minutes anyway. Do not call `close` if a later follower is to continue
        from this follower's `position`: that follower would have to start a new epoch.
        """
        with contextlib.suppress(errors.PersiaError):
            self._ask(0)

    def _ask(self, max_rows: int) -> tuple[Changes, capi.FollowPosition]:
        handle = capi.ChangesHandle()
        position = capi.FollowPosition(*self.position)
        capi.library().persia_session_changes(
            *(self._key, self._shard, self._member),
            *(ctypes.byref(position), max_rows),
            ctypes.byref(handle),
        )
        return _take(handle), position

    def __enter__(self) -> ShardFollower:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def slots_of(ids: Any) -> np.ndarray:
    """Returns the slot of each id, which never changes.

    All rows of a slot live on one shard at a time: `Changes.slots` says on which.

    Args:
        ids: Integers that fit int64, of rank 1.

    Returns:
        uint32, `(len(ids),)`: the slots' numbers, from 0 to 16383.

    Raises:
        ValueError: if `ids` are not integers that fit int64.
    """
    ids = row_checks.checked_ids(ids)
    slots = np.empty(len(ids), np.uint32)
    capi.library().persia_slots_of_ids(
        *arrays.ids(ids), slots.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32))
    )
    return slots


def _take(handle: capi.ChangesHandle) -> Changes:
    """Copies the changes that a handle views, and frees the handle."""
    native = capi.library()
    try:
        view = capi.ChangesView()
        native.persia_changes_get(handle, ctypes.byref(view))
        tables = [_table(handle, number) for number in range(view.tables)]
        return Changes(
            _BEGINS[view.begins],
            bool(view.complete),
            tables,
            arrays.copied(view.slot_epochs, (capi.SLOTS,), np.uint32),
            arrays.copied(view.fresh, (capi.SLOTS,), np.uint8).astype(bool),
            view.cluster,
        )
    finally:
        native.persia_changes_free(handle)


def _table(handle: capi.ChangesHandle, number: int) -> ChangedTable:
    table = capi.ChangedTable()
    capi.library().persia_changes_table(handle, number, ctypes.byref(table))
    return ChangedTable(
        name=table.name.decode(),
        dim=table.dim,
        row_dtype=table.row_dtype.decode(),
        ids=arrays.copied(table.ids, (table.count,), np.int64),
        rows=arrays.copied(table.rows, (table.count, table.dim), np.float32),
        erased=arrays.copied(table.erased, (table.erased_count,), np.int64),
        fate=_FATES[table.fate],
    )
