"""`Table`: reads, writes and iterates over a table's rows outside of training."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from persia_tf import errors, stats
from persia_tf.base import checks
from persia_tf.client import row_checks
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster
from persia_tf.native import arrays, capi

# The largest size of one request, which stays below a shard's own limit and can be sent
# within the deadline.
_REQUEST_BYTES = 16 << 20

_MOST_BATCH_ROWS = 2**20

# How many seconds pass before each further try of an export that was interrupted.
_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0, 2.0, 2.0)

_Result = TypeVar("_Result")


class Rows(NamedTuple):
    """Some rows of a table.

    Attributes:
        ids: int64, `(n,)`.
        rows: float32, `(n, dim)`: the vectors.
        state: float32, `(n, state_size)`: the optimizer state, whose columns are listed
            in docs/tables.md; `state_size` is 0 if the optimizer has no state.
    """

    ids: np.ndarray
    rows: np.ndarray
    state: np.ndarray


class UsedRows(NamedTuple):
    """Some rows of a table, and how they were used.

    Attributes:
        ids: As in `Rows`.
        rows: As in `Rows`.
        state: As in `Rows`.
        ages: uint32, `(n,)`: how long ago each row was last used, in units of `time`.
        counts: uint32, `(n,)`: how often each row was used; saturates at its maximum.
        time: The unit of `ages`: `"seconds"`, or `"steps"`, which are training lookups
            of the table that the row's shard received (an age of 1 means that the
            latest lookup used the row). Empty if the table does not record uses.
    """

    ids: np.ndarray
    rows: np.ndarray
    state: np.ndarray
    ages: np.ndarray
    counts: np.ndarray
    time: str


# The values of `UsedRows.time`, in the order of the core's numbers for them.
_USE_TIMES = ("", "steps", "seconds")


class Table:
    """The rows of one table, wherever they live.

    A `Table` object creates no table: a `PersiaEmbedding` layer does, when the layer is
    built. Every call first waits for the updates that this program has committed to the
    cluster, so the call sees their result. Training may continue during a call.

    Example:

    ```python
    table = ptf.Table("user")
    table.assign(pretrained_ids, pretrained_vectors)
    model.fit(...)
    for ids, rows, state in table.export():
        ...
    ```

    Args:
        name: The table's name: the layer's `table`, else the layer's name.
        cluster: The `persia_tf.Cluster` that holds the table. Defaults to the cluster
            of `ptf.use_cluster`, else to the one that the environment names.
    """

    def __init__(self, name: str, cluster: Cluster | None = None) -> None:
        checks.instance("name", name, str, "a table's name, a str")
        self.name = name
        self.cluster = cluster if cluster is not None else current_cluster()

    @property
    def dim(self) -> int:
        """The number of weights per row.

        Raises:
            NotFoundError: if there is no such table.
        """
        return self._parts()[0].dim

    def __len__(self) -> int:
        """Counts the rows, over all shards.

        Returns:
            The number of rows. It may include some that have expired (`TTL`).

        Raises:
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered.
        """
        self.cluster.flush()
        return sum(part.rows for part in self._parts())

    def lookup(self, ids: Any) -> np.ndarray:
        """Looks up vectors. This creates no rows, and does not count as a use of a row.

        Args:
            ids: Integers that fit int64, of rank 1. They may repeat.

        Returns:
            float32, `(len(ids), dim)`. An id without a row gives zeros.

        Raises:
            ValueError: if `ids` are not such integers.
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered.
        """
        ids = row_checks.checked_ids(ids)
        self.cluster.flush()
        dim = self.dim
        rows = np.empty((len(ids), dim), np.float32)
        for part in _parts_of(len(ids), dim):
            capi.library().persia_session_lookup(
                *self._keys(),
                dim,
                *arrays.ids(ids[part]),
                arrays.floats(rows[part]),
            )
        return rows

    def export(
        self, batch_size: int = 65536, *, uses: bool = False
    ) -> Iterator[Rows] | Iterator[UsedRows]:
        """Iterates over all rows, in no particular order, in batches.

        The iterator holds a few batches in memory, however large the table is. A row
        that exists from the first batch to the last is returned exactly once, as it is
        when its batch is read; rows that are created or removed meanwhile may be
        missing.

        Example:

        >>> count = sum(len(batch.ids) for batch in ptf.Table("user").export())

        Args:
            batch_size: The maximum number of rows per batch: an integer from 1 to
                2**20. Batches of large rows are smaller. Defaults to `65536`.
            uses: Whether to return also how training lookups and assignments used the
                rows. Only tables with a capacity or an eviction policy record uses.
                Defaults to False.

        Returns:
            An iterator of `Rows`, or of `UsedRows`.

        Raises:
            TypeError: if `batch_size` is not an integer.
            ValueError: if `batch_size` is out of its range.
            FailedPreconditionError: on the first batch, if `uses` is True and the table
                does not record uses.
            InterruptedExportError: on any batch, if rows moved to another shard since
                the first batch. Export again: what was returned may lack rows.
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered.
        """
        batch_size = checks.integer("batch_size", batch_size, 1, _MOST_BATCH_ROWS)
        self.cluster.flush()
        self._parts()
        pages = self._pages(batch_size)
        if uses:
            return _batches((self._noted(page) for page in pages), batch_size)
        return _batches((Rows(*page[:3]) for page in pages), batch_size)

    def assign(self, ids: Any, rows: Any, state: Any = None) -> None:
        """Sets vectors, such as pretrained ones, and creates missing rows.

        Rows are created regardless of the table's admission policy. The vectors are
        rounded to the table's `row_dtype`. If the table has a capacity, rows beyond it
        are then evicted.

        Args:
            ids: Unique integers that fit int64, of rank 1.
            rows: Numbers, `(len(ids), dim)`, which must be finite in float32.
            state: Numbers, `(len(ids), state_size)`: the optimizer state, as `export`
                returns it. If None, the state is that of new rows. Defaults to None.

        Raises:
            ValueError: if an array has another dtype or shape, an id occurs twice, or
                a number is not finite. Nothing is set then.
            InvalidArgumentError: if the table's optimizer state has another size.
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered. Some rows may have been set then.
        """
        ids = row_checks.checked_ids(ids)
        row_checks.refuse_duplicates(ids)
        self.cluster.flush()
        rows = row_checks.checked_rows(rows, len(ids), self.dim)
        self.write(Rows(ids, rows, row_checks.checked_state(state, len(ids))))

    def write(self, batch: Rows) -> None:
        """Writes rows from `export`, as `assign` does but without checks or a flush."""
        self.cluster.session.writes += 1
        dim, width = batch.rows.shape[1], batch.state.shape[1]
        for part in _parts_of(len(batch.ids), dim + width):
            ids, rows, state = (each[part] for each in batch)
            capi.library().persia_session_assign(
                *(*self._keys(), dim, width, *arrays.ids(ids)),
                *(arrays.floats(rows), arrays.floats(state)),
            )

    def remove(self, ids: Any) -> int:
        """Removes rows, with their optimizer state.

        Args:
            ids: Integers that fit int64, of rank 1. Ids without a row are ignored.

        Returns:
            How many rows were removed. If a connection to a shard broke during the
            call, that shard may have removed more rows than were counted.

        Raises:
            ValueError: if `ids` are not such integers.
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered. Some rows may have been removed then.
        """
        ids = row_checks.checked_ids(ids)
        self.cluster.flush()
        self._parts()
        self.cluster.session.writes += 1
        total = 0
        for part in _parts_of(len(ids), 0):
            removed = ctypes.c_uint64()
            capi.library().persia_session_remove(
                *self._keys(), *arrays.ids(ids[part]), ctypes.byref(removed)
            )
            total += removed.value
        return total

    def clear(self) -> int:
        """Removes all rows at once, with their optimizer state.

        The table and its settings stay, and layers on it can still be used: training
        creates the rows again, with the same initial values. The counts of the
        admission policy are reset too. The next checkpoint is not an increment.

        Gradients of batches that were looked up before this call, as with
        `ptf.data.prefetch`, are skipped (and counted as `absent_gradients`).

        Returns:
            How many rows the table had.

        Raises:
            NotFoundError: if there is no such table.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered. Some shards may have cleared their
                rows then.
        """
        rows = len(self)
        self.cluster.session.clear_table(self._full_name)
        return rows

    def drop(self, *, missing_ok: bool = False) -> int:
        """Drops the table: its rows and its settings, on every shard.

        A layer may then create it again, with another width or optimizer. Layers of
        this program that were built on the table cannot be used any more: their next
        step raises `NotFoundError`, and the model must be built again. Layers of other
        programs raise it too, until some program creates the table again. The next
        checkpoint is not an increment.

        Example:

        ```python
        ptf.Table("user").drop()
        model = build_model(embedding_dim=32)
        ```

        Args:
            missing_ok: Whether to accept that the table does not exist, such as before
                the first of several folds. Defaults to False.

        Returns:
            How many rows the table had.

        Raises:
            NotFoundError: if there is no such table, unless `missing_ok` is True.
            PersiaError: if a shard does not answer in time (the message names it), or
                an update could not be delivered. Some shards may have dropped the
                table then: call `drop` again.
        """
        session = self.cluster.session
        processes = self.cluster.shard_stats()
        parts = [part for process in processes for part in process.tables]
        found = [part.rows for part in parts if part.name == self._full_name]
        if not found and not session.knows(self._full_name):
            if missing_ok:
                return 0
            raise errors.NotFoundError(self._absence(processes[0]))
        session.drop_table(self._full_name)
        return sum(found)

    def forget_copies(self) -> None:
        """Discards this program's copies of hot rows.

        Call it if another program may have changed the rows.
        """
        removed = ctypes.c_uint64()
        nothing = np.empty(0, np.int64)
        capi.library().persia_session_remove(
            *self._keys(), *arrays.ids(nothing), ctypes.byref(removed)
        )

    def __bool__(self) -> bool:
        # Without this method Python would call `__len__`, which sends requests to the
        # shards, and an empty table would be false.
        return True

    def __repr__(self) -> str:
        return f"<Table {self.name!r} of {self.cluster!r}>"

    @property
    def _full_name(self) -> str:
        return self.cluster.full_name(self.name)

    def _keys(self) -> tuple[bytes, bytes]:
        session = self.cluster.session.name
        return capi.utf8(session), capi.utf8(self._full_name)

    def _parts(self) -> list[stats.TableStats]:
        """Returns the counters of each shard's part of the table."""
        parts = []
        shards = self.cluster.shard_stats()
        for process in shards:
            found = [part for part in process.tables if part.name == self._full_name]
            # A shard that has joined the cluster has no tables before it has slots.
            if not found and (process.slots or process.role != "shard"):
                raise errors.NotFoundError(self._absence(process))
            parts += found
        if not parts:
            raise errors.NotFoundError(self._absence(shards[0]))
        return parts

    def _absence(self, process: stats.ProcessStats) -> str:
        names = ", ".join(repr(table.name) for table in process.tables) or "no table"
        where = "this process" if self.cluster.is_embedded else process.address
        return (
            f"there is no table '{self._full_name}' on {where}, which holds {names}. "
            "Build the layer first, which creates its table; and check that this name "
            "is the layer's `table`, and this cluster the layer's `cluster`."
        )

    def _pages(self, max_rows: int) -> Iterator[UsedRows]:
        cursor = capi.ExportCursor()
        while not cursor.at_end:
            page = capi.PageHandle()
            try:
                capi.library().persia_session_export(
                    *self._keys(), max_rows, ctypes.byref(cursor), ctypes.byref(page)
                )
            except errors.FailedPreconditionError as error:
                raise errors.InterruptedExportError(str(error)) from error
            yield _take(page)

    def _noted(self, page: UsedRows) -> UsedRows:
        if not page.time:
            raise errors.FailedPreconditionError(
                f"table '{self._full_name}' does not record when its rows are used: "
                "before training, give its layer a `capacity` or an `eviction`, such "
                "as persia_tf.eviction.TTL(seconds=...)"
            )
        return page


def uninterrupted(export: Callable[[], _Result]) -> _Result:
    """Calls a function that exports tables; begins again if slots move meanwhile.

    Args:
        export: Reads `Table.export` to the end, and returns what it made of that. Is
            called again after an `InterruptedExportError`.

    Returns:
        What `export` has returned.

    Raises:
        InterruptedExportError: if slots have moved during each of several tries.
    """
    for pause in _PAUSES:
        try:
            return export()
        except errors.InterruptedExportError:
            time.sleep(pause)
    return export()


_Batch = TypeVar("_Batch", Rows, UsedRows)


def _batches(pages: Iterator[_Batch], batch_size: int) -> Iterator[_Batch]:
    # A page of the core may have a few more rows than `batch_size`, so pages are split.
    for page in pages:
        for first in range(0, len(page.ids), batch_size):
            part = slice(first, first + batch_size)
            yield type(page)(
                *(each[part] if isinstance(each, np.ndarray) else each for each in page)
            )


def _take(page: capi.PageHandle) -> UsedRows:
    """Copies the rows that `page` views, and frees the page."""
    native = capi.library()
    try:
        view = capi.PageView()
        native.persia_page_get(page, ctypes.byref(view))
        count = view.count
        unit = _USE_TIMES[view.use_time]
        uses = arrays.copied(
            ctypes.cast(view.uses, ctypes.POINTER(ctypes.c_uint32)),
            (count if unit else 0, 2),
            np.uint32,
        )
        return UsedRows(
            arrays.copied(view.ids, (count,), np.int64),
            arrays.copied(view.rows, (count, view.dim), np.float32),
            arrays.copied(view.state, (count, view.state_size), np.float32),
            *uses.T,
            unit,
        )
    finally:
        native.persia_page_free(page)


def _parts_of(count: int, floats: int) -> Iterator[slice]:
    """Splits `count` rows into requests. A row is an id and `floats` numbers."""
    row_bytes = 8 + 4 * floats
    step = max(1, _REQUEST_BYTES // row_bytes)
    for first in range(0, count, step):
        yield slice(first, first + step)
