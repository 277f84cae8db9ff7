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

from persia_tf import _native, checks, errors, native_arrays, row_checks
from persia_tf.session import Session

__all__ = ["ChangedTable", "Changes", "Position", "ShardFollower", "shards_of"]

# In the order of the core's numbers.
_BEGINS = ("on", "save", "whole")
_FATES = ("stays", "cleared", "dropped")

_MOST_ROWS = 2**24

NOW = 2**64 - 1
"""As a `base_save`: of who needs no row as it was before."""


class Position(NamedTuple):
    """A follower's position. Save it together with the rows that were applied.

    Attributes:
        follower: A random number that identifies the follower.
        epoch: The epoch of the last changes that were applied. Each time the follower
            restarts from a save or from all rows, a new epoch begins.
        version: The number of these changes within the epoch; 0 if none were applied.
        base_save: The number of the newest checkpoint whose rows the follower is known
            to have; 0 if there is none; or `NOW`.
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
        row_dtype: The dtype in which the shard stores rows, as the core's text.
        shard_index: The index of the shard that has these rows, from 0, in the list of
            the cluster that created the table; 0 for the embedded store.
        shard_count: How many shards the table's rows live on.
        ids: int64, `(n,)`: the ids whose rows were created, trained or set.
        rows: float32, `(n, dim)`: their rows, as they were when the shard read them.
        erased: int64, `(m,)`: ids that have no row any more.
        fate: `"stays"` if the table still exists; `"cleared"` if all its rows on this
            shard were removed before the rows given here were created; `"dropped"` if
            the table itself was removed. A dropped table is not reported again unless
            it is created again, maybe with other settings.
    """

    name: str
    dim: int
    row_dtype: str
    shard_index: int
    shard_count: int
    ids: np.ndarray
    rows: np.ndarray
    erased: np.ndarray
    fate: str = "stays"


@dataclasses.dataclass(frozen=True)
class Changes:
    """What `ShardFollower.poll` returns.

    Attributes:
        begins: `"on"`: these changes continue from the previous ones. `"save"`: the
            first changes of a new epoch, which starts from a checkpoint that the
            follower has, or from now. `"whole"`: the first changes of a new epoch,
            which starts with all rows; once `complete` is true, the follower must drop
            the rows of this shard that it was not given in this epoch.
        complete: Whether the follower now has every change from before the call.
        tables: A `ChangedTable` for each table with changes, and for each table that
            was not reported before.
    """

    begins: str
    complete: bool
    tables: list[ChangedTable]


class ShardFollower:
    """Follows one shard of a cluster. Not thread-safe.

    The shard records the ids that change until the follower polls. It accepts 64
    followers. It forgets one on `close`, or after 10 minutes without a `poll`; a
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
            shards.
        position: The `position` of an earlier follower, from which to continue. If
            None, a new follower starts. Defaults to None.
        base_save: Only for a new follower: the number of a checkpoint whose rows the
            caller already has; or `NOW` if it never needs rows from before an epoch,
            neither at the start nor when a new epoch must begin; or `0` if it has no
            rows. Defaults to `0`.
    """

    def __init__(
        self,
        session: Session,
        shard: int,
        position: Position | None = None,
        base_save: int = 0,
    ) -> None:
        shard = checks.integer("shard", shard, 0, 2**32 - 1)
        base_save = checks.integer("base_save", base_save, 0, 2**64 - 1)
        self._key = _native.utf8(session.name)
        self._shard = shard
        if position is None:
            follower = secrets.randbelow(2**64 - 1) + 1
            position = Position(follower, base_save=base_save)
        self._position = _native.FollowPosition(*position)

    @property
    def position(self) -> Position:
        """The position once the changes that `poll` returned last are applied."""
        fields = self._position._fields_
        return Position(*(getattr(self._position, name) for name, *_ in fields))

    def begin_anew(self) -> None:
        """Starts a new epoch, for when the last changes could not be applied.

        The next `poll` begins with all rows, or from now if `base_save` was `NOW`.
        """
        # The follower's number stays, so that it uses no second place at the shard.
        follower, base_save = self._position.follower, self._position.base_save
        self._position = _native.FollowPosition(
            *Position(follower, base_save=NOW if base_save == NOW else 0)
        )

    def poll(self, max_rows: int = 65536) -> Changes:
        """Returns what changed since the last call. It does not wait for a change.

        Each call acknowledges that the changes from the previous call were applied. If
        it raises, call it again: nothing is lost.

        Args:
            max_rows: The approximate limit on the number of rows and erased ids in one
                reply, from 1 to 2**24. Replies with large rows have fewer. Defaults to
                `65536`.

        Returns:
            The `Changes`, which may be empty.

        Raises:
            TypeError: if `max_rows` is not an integer.
            ValueError: if `max_rows` is out of its range.
            InvalidArgumentError: if there is no such shard.
            PersiaError: if the shard does not answer in time; or, with the code 8, if
                it has no place for another follower.
        """
        max_rows = checks.integer("max_rows", max_rows, 1, _MOST_ROWS)
        changes, position = self._ask(max_rows)
        self._position = position  # Only once the call has succeeded.
        return changes

    def close(self) -> None:
        """Makes the shard forget the follower and the changes recorded for it.

        If the shard does not answer, nothing is raised: it forgets the follower after
        10 minutes anyway. Do not call it if a later follower is to continue from this
        one's `position`: that would have to start a new epoch.
        """
        with contextlib.suppress(errors.PersiaError):
            self._ask(0)

    def _ask(self, max_rows: int) -> tuple[Changes, _native.FollowPosition]:
        handle = _native.ChangesHandle()
        position = _native.FollowPosition(*self.position)
        _native.library().persia_session_changes(
            *(self._key, self._shard, ctypes.byref(position), max_rows),
            ctypes.byref(handle),
        )
        return _take(handle), position

    def __enter__(self) -> ShardFollower:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def shards_of(ids: Any, shard_count: int) -> np.ndarray:
    """Returns the shard on which each id's row lives.

    Args:
        ids: Integers that fit int64, of rank 1.
        shard_count: The number of shards, at least 1: `len(cluster.shards)`, or 1 for
            the embedded store; with embedding workers, the number of shards behind
            them.

    Returns:
        uint32, `(len(ids),)`: the shards' numbers, from 0.

    Raises:
        TypeError: if `shard_count` is not an integer.
        ValueError: if `ids` are not such integers, or `shard_count` is out of its
            range.
    """
    ids = row_checks.checked_ids(ids)
    shard_count = checks.integer("shard_count", shard_count, 1, 2**32 - 1)
    shards = np.empty(len(ids), np.uint32)
    _native.library().persia_shards_of_ids(
        *native_arrays.ids(ids),
        shard_count,
        shards.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)),
    )
    return shards


def _take(handle: _native.ChangesHandle) -> Changes:
    """Copies the changes that a handle views, and frees the handle."""
    native = _native.library()
    try:
        view = _native.ChangesView()
        native.persia_changes_get(handle, ctypes.byref(view))
        tables = [_table(handle, number) for number in range(view.tables)]
        return Changes(_BEGINS[view.begins], bool(view.complete), tables)
    finally:
        native.persia_changes_free(handle)


def _table(handle: _native.ChangesHandle, number: int) -> ChangedTable:
    table = _native.ChangedTable()
    _native.library().persia_changes_table(handle, number, ctypes.byref(table))
    return ChangedTable(
        name=table.name.decode(),
        dim=table.dim,
        row_dtype=table.row_dtype.decode(),
        shard_index=table.shard_index,
        shard_count=table.shard_count,
        ids=native_arrays.copied(table.ids, (table.count,), np.int64),
        rows=native_arrays.copied(table.rows, (table.count, table.dim), np.float32),
        erased=native_arrays.copied(table.erased, (table.erased_count,), np.int64),
        fate=_FATES[table.fate],
    )
