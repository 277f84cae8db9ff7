"""Following shards: every row that changes, and every id that loses its row.

What must know the rows without asking for them - a server of predictions, a copy,
an index - follows each shard of a cluster while it goes on training. See
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

# As the core numbers them.
_BEGINS = ("on", "save", "whole")
_FATES = ("stays", "cleared", "dropped")

_MOST_ROWS = 2**24

NOW = 2**64 - 1
"""As a `base_save`: of who needs no row as it was before."""


class Position(NamedTuple):
    """Where a follower is. Save it together with the rows that it has applied.

    Attributes:
        follower: A random number, which tells it from others.
        epoch: Of the last changes that it applied: which beginning they are of.
        version: Their number in that epoch; 0: none was applied.
        base_save: The newest checkpoint that it is known to be as new as; 0: none; or
            `NOW`.
    """

    follower: int
    epoch: int = 0
    version: int = 0
    base_save: int = 0


@dataclasses.dataclass(frozen=True)
class ChangedTable:
    """What changed in one table. Each id is told of once.

    Attributes:
        name: The table's full name, its namespace included.
        dim: Numbers a row.
        row_dtype: How the shard holds rows, as the core's text.
        shard_index: Which of the shards has these rows, from 0, as those who made the
            table listed them; 0 of the embedded store.
        shard_count: How many shards the table's rows live on.
        ids: int64, `(n,)`: the ids whose rows were made, trained or set.
        rows: float32, `(n, dim)`: their rows as they were when they were read.
        erased: int64, `(m,)`: ids that have no row.
        fate: `"stays"`; or `"cleared"`: all rows of this shard went, before those that
            are told here; or `"dropped"`: so did the table, which is not told of again
            unless it is made anew, maybe with other settings.
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
    """What `ShardFollower.poll` tells.

    Attributes:
        begins: `"on"`: these go on from the changes before. `"save"`: they begin
            with what changed since a checkpoint that the follower has, or now.
            `"whole"`: they begin with all rows, and once `complete` is true, rows of
            this shard that were not given since must be dropped.
        complete: Whether all is told that changed before the call.
        tables: A `ChangedTable` for each table with changes, or not told of before.
    """

    begins: str
    complete: bool
    tables: list[ChangedTable]


class ShardFollower:
    """Follows one shard of a cluster. Not thread-safe.

    The shard notes the ids that change until they are asked for. It has places for 64
    followers: `close` frees one's, or 10 minutes without a `poll`. What is asked for
    after that begins anew.

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
        shard: The shard's number, from 0, in the cluster's order. Behind embedding
            workers, that of the workers' list.
        position: Where to go on: an earlier follower's `position`. Defaults to
            None: it begins.
        base_save: For one that begins: the number of a checkpoint that the rows which
            it has already are as new as; or `NOW`: it needs no earlier rows, now or
            when it must begin anew. Defaults to `0`: it has none.
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
        """Where it is once what `poll` gave last is applied."""
        fields = self._position._fields_
        return Position(*(getattr(self._position, name) for name, *_ in fields))

    def begin_anew(self) -> None:
        """Says that what `poll` gave last was not applied, and maybe never will be.

        It begins with all rows, unless it needs no earlier ones.
        """
        # The same follower: the shard keeps a place for each that it knows of.
        follower, base_save = self._position.follower, self._position.base_save
        self._position = _native.FollowPosition(
            *Position(follower, base_save=NOW if base_save == NOW else 0)
        )

    def poll(self, max_rows: int = 65536) -> Changes:
        """Asks what changed since the last call. Waits for no change.

        To call it says that what it gave last was applied. If it raises, call it
        again: nothing is lost.

        Args:
            max_rows: About the most rows and erased ids to give, from 1 to 2**24.
                Defaults to `65536`; fewer are given of large rows.

        Returns:
            The `Changes`, maybe none.

        Raises:
            TypeError: if `max_rows` is no integer.
            ValueError: if `max_rows` is out of its range.
            InvalidArgumentError: if there is no such shard.
            PersiaError: if the shard does not answer in time, or, with the code 8,
                has as many followers as it takes.
        """
        max_rows = checks.integer("max_rows", max_rows, 1, _MOST_ROWS)
        changes, position = self._ask(max_rows)
        self._position = position  # Not before the caller has what it tells.
        return changes

    def close(self) -> None:
        """Frees its place at the shard, and what is noted there for it.

        A shard that does not answer frees it by itself, after 10 minutes: that raises
        nothing. Not for one whose `position` is to go on later: that begins anew.
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
    """Says which shard each id lives on.

    Args:
        ids: Integers that fit int64, of rank 1.
        shard_count: How many shards there are, from 1: `len(cluster.shards)`, or 1
            of the embedded store; behind embedding workers, theirs.

    Returns:
        uint32, `(len(ids),)`: shards' numbers, from 0.

    Raises:
        TypeError: if `shard_count` is no integer.
        ValueError: if `ids` are no such integers, or `shard_count` is out of its
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
    """Copies what the handle views and frees it."""
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
