"""Tracks which layers of this process use which tables.

Rows outlive the model that trained them. So a layer logs a warning if it continues to
train the rows of another model of this process, and `keras.utils.clear_session()` frees
the embedded tables that no existing layer uses.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from absl import logging

from persia_tf import errors
from persia_tf.client import embedded
from persia_tf.client import session as session_lib
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import current_cluster
from persia_tf.layers.keras_clearing import ClearSessionWatch
from persia_tf.table import Table


class _Use(NamedTuple):
    """A layer, and how often Keras's session had been cleared when it was built."""

    layer: weakref.ref[Any]
    keras_session: int


class TableUsers:
    """The layers that were built on embedded tables. Thread-safe."""

    def __init__(self) -> None:
        self._uses: dict[tuple[str, str], list[_Use]] = {}  # Keyed by store, table.
        self._keras_session = 0
        self._was_cleared = False
        # Reentrant: while a thread holds the lock, garbage collection may run callbacks
        # on that thread, which acquire the lock again.
        self._lock = threading.RLock()
        self._watch = ClearSessionWatch(self._on_clear_session)
        session_lib.when_dropped(self._forget)

    def home(self, cluster: Cluster) -> Cluster:
        """Returns a layer's cluster; binds an embedded cluster to the current store."""
        if not cluster.is_embedded:
            return cluster
        with self._lock:
            if self._was_cleared:
                self._begin_afresh()
            self._watch.begin()
        return cluster.at_home()

    def add(self, layer: Any, store: str, table: str) -> None:
        """Records that a layer was built on a table of a store."""
        with self._lock:
            uses = [
                use
                for use in self._uses.get((store, table), [])
                if use.layer() is not None
            ]
            uses.append(_Use(weakref.ref(layer), self._keras_session))
            self._uses[store, table] = uses

    def _on_clear_session(self) -> None:
        with self._lock:
            self._keras_session += 1
            self._was_cleared = True
            if not self._uses:
                return
        gc.collect()  # Models are reference cycles, which only this call frees.
        self.free_unused()

    def free_unused(self) -> None:
        """Drops the tables and ends the earlier stores that no existing layer uses."""
        for store, table in self._unused():
            session = session_lib.find_session(store)
            if session is None:
                continue
            try:
                session.drop_table(table)
            except errors.PersiaError as error:
                logging.warning(
                    "table '%s' could not be freed, although no layer uses it: %s",
                    *(table, error),
                )
        for store in embedded.stores()[:-1]:
            if next(self._living(store), None) is None:
                embedded.end_store(store)

    def _unused(self) -> list[tuple[str, str]]:
        with self._lock:
            return [
                key
                for key, uses in self._uses.items()
                if all(use.layer() is None for use in uses)
            ]

    def _living(self, store: str) -> Iterator[_Use]:
        with self._lock:
            uses = [
                use
                for key, each in self._uses.items()
                for use in each
                if key[0] == store
            ]
        return (use for use in uses if use.layer() is not None)

    def _begin_afresh(self) -> None:
        """Begins a new store if layers from before `clear_session()` still exist."""
        self._was_cleared = False
        if self._has_earlier_users():
            gc.collect()  # Models may have become unused since the session was cleared.
        self.free_unused()
        if self._has_earlier_users():
            embedded.begin_store()
            logging.info(
                "the Keras session was cleared while models with PersiaEmbedding "
                "layers still exist: those models keep their rows, and models that "
                "are built from now on start without rows"
            )

    def _has_earlier_users(self) -> bool:
        uses = self._living(embedded.current_store())
        return any(use.keras_session < self._keras_session for use in uses)

    def _forget(self, store: str, table: str) -> None:
        with self._lock:
            self._uses.pop((store, table), None)


table_users = TableUsers()


class FoundRows:
    """Rows of another model that a table held when a layer was built.

    Args:
        layer: The layer's name.
        table: The table's name.
        cluster: The cluster that holds the table.
        rows: The number of rows.
    """

    def __init__(self, layer: str, table: str, cluster: Cluster, rows: int) -> None:
        self._layer = layer
        self._table = table
        self._cluster = cluster
        self._rows = rows

    def tell(self) -> None:
        """Warns that the layer continues from these rows, and how to avoid that."""
        logging.warning(
            "layer '%s' continues from the %d rows of table '%s', which another model "
            "of this process trained: models that name the same table share its rows. "
            "To start without them (for a fold, a trial, or a notebook cell that runs "
            "again), call %s before you build the model, or give the layer another "
            "table=.",
            *(self._layer, self._rows, self._table, self._remedy()),
        )

    def _remedy(self) -> str:
        if self._cluster.is_embedded:
            return f"ptf.reset() or ptf.Table('{self._table}').drop()"
        found = current_cluster()
        if (found.shards, found.namespace) == (
            self._cluster.shards,
            self._cluster.namespace,
        ):
            return f"ptf.Table('{self._table}').drop()"
        return f"ptf.Table('{self._table}', cluster).drop()"


def rows_of_others(
    layer: str, table: str, cluster: Cluster, rows: int
) -> FoundRows | None:
    """Returns a `FoundRows` if this process trained or loaded rows of the table before.

    Args:
        layer: The name of the layer that is being built.
        table: The table's name.
        cluster: The cluster that holds the table.
        rows: The number of rows in the table.
    """
    session, full_name = cluster.session, cluster.full_name(table)
    if rows and (full_name in session.loaded or session.has_trained(full_name)):
        return FoundRows(layer, table, cluster, rows)
    return None


def tell_of_frozen_rows(layer: str, table: Table) -> None:
    """Warns if a layer that is not trainable has an empty table.

    Args:
        layer: The layer's name.
        table: The layer's table.
    """
    if len(table):
        return
    logging.warning(
        "layer '%s' is not trainable, and its table '%s' has no rows: every id gives "
        "zeros. Load rows, or assign them by ptf.Table('%s').assign(ids, rows); or "
        'give absent="initial", so that ids without a row get initial weights.',
        *(layer, table.name, table.name),
    )
