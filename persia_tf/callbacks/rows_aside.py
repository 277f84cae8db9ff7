"""Copies the rows of a model during training, so that they can be restored later."""

from __future__ import annotations

import abc
import os
import tempfile
from typing import Any

import numpy as np
from absl import logging

from persia_tf import checkpoint
from persia_tf.callbacks.model_tables import tables_of
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.layers.workers import Workers
from persia_tf.saving import stored_rows
from persia_tf.saving.bytes_store import BytesStore
from persia_tf.saving.header import Header
from persia_tf.saving.replacing import set_rows
from persia_tf.table import Table

# The subfolder of a cluster's `checkpoint_root` for the checkpoint of the best epoch.
_FOLDER = "best"


class RowsAside:
    """A copy of the rows of a model's tables, with their optimizer state.

    The copy is in files in a temporary folder on the chief's machine. Rows are written
    and read in batches; restoring them needs 8 bytes of memory per row. If a table is
    larger than its cluster's `archive_limit`, and the cluster has a `checkpoint_root`,
    the copy is a checkpoint below that root, with all tables of the cluster. Rows of
    frozen layers are not copied, since they do not change.

    Under a strategy with several workers, every worker must call the same methods.

    Args:
        model: A built Keras model.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._workers = Workers.of(model)
        self._folder = tempfile.TemporaryDirectory(prefix="persia-rows-")
        self._kept: list[_Kept] = []

    def keep(self) -> None:
        """Copies the current rows, and removes the earlier copy, if any.

        Raises:
            OSError: if a file cannot be written.
            PersiaError: if a shard does not answer, or an update could not be
                delivered.
        """
        self._after_all_updates()
        self._workers.together(self._keep_on_chief)

    def put_back(self) -> None:
        """Restores the copied rows, and removes rows that were created after the copy.

        Raises:
            PersiaError: if a shard does not answer. Some rows may already be restored
                in that case.
        """
        self._after_all_updates()
        self._workers.together(self._put_back_on_chief)
        if not self._workers.is_chief:
            for table in self._tables():
                table.forget_copies()

    def drop(self) -> None:
        """Removes the files of the copy, and its checkpoint if there is one."""
        for kept in self._kept:
            kept.drop()
        self._kept = []
        self._folder.cleanup()

    def _after_all_updates(self) -> None:
        """Waits until the updates of all workers are applied."""
        clusters = {t.cluster.session.name: t.cluster for t in self._tables()}

        def flush() -> None:
            for cluster in clusters.values():
                cluster.flush()

        self._workers.together(flush)

    def _keep_on_chief(self) -> None:
        if not self._workers.is_chief:
            return
        before, self._kept = self._kept, []
        by_cluster: dict[str, list[Table]] = {}
        for table in self._tables():
            by_cluster.setdefault(table.cluster.session.name, []).append(table)
        for tables in by_cluster.values():
            cluster = tables[0].cluster
            if cluster.checkpoint_root is not None and any(map(_is_large, tables)):
                self._kept.append(_InCheckpoint(cluster))
            else:
                self._kept += [_InFile(table, self._new_path()) for table in tables]
        for kept in before:
            kept.drop()

    def _put_back_on_chief(self) -> None:
        for kept in self._kept:
            kept.put_back()

    def _tables(self) -> list[Table]:
        """Returns the tables of the model's trainable layers, without duplicates."""
        return list(tables_of(self._model, trainable=True).values())

    def _new_path(self) -> str:
        number, path = tempfile.mkstemp(dir=self._folder.name, suffix=".npz")
        os.close(number)
        return path


def _is_large(table: Table) -> bool:
    return stored_rows.stored_bytes(table) > table.cluster.archive_limit


class _Kept(abc.ABC):
    """A copy of the rows of some tables, which can be restored or removed."""

    @abc.abstractmethod
    def put_back(self) -> None:
        """Restores the rows of the tables from this copy."""

    @abc.abstractmethod
    def drop(self) -> None:
        """Removes the file or checkpoint that holds this copy."""


class _InFile(_Kept):
    """A copy of the rows of one table, in a file on this machine."""

    def __init__(self, table: Table, path: str) -> None:
        self._table = table
        self._path = path
        # The header omits the optimizer and compression: readers compare these with the
        # table's settings, but only this object reads the file.
        self._header = Header(
            table=table.name, dim=table.dim, optimizer="", compression=None
        )
        with open(path, "wb") as file:
            store = BytesStore(file)
            stored_rows.store_rows(store, table, self._header)
            store.close()

    def put_back(self) -> None:
        with np.load(self._path, allow_pickle=False) as store:
            saved = stored_rows.read_header(store)
            removed = set_rows(self._table, self._header, store, saved)
        logging.info(
            "table '%s': restored its %d rows of the best epoch, and removed %d rows "
            "that were added after it",
            *(self._table.name, saved.rows, removed),
        )

    def drop(self) -> None:
        os.remove(self._path)


class _InCheckpoint(_Kept):
    """A copy of all tables of a cluster, in a checkpoint that the shards write."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        where = f"{cluster.checkpoint_root}/{_FOLDER}"
        saved = checkpoint.save(where, cluster=cluster, max_to_keep=None)
        self._checkpoint = saved.folder

    def put_back(self) -> None:
        checkpoint.restore(self._checkpoint, cluster=self._cluster)
        logging.warning(
            "restored checkpoint %s of the best epoch: this reset every table of the "
            "cluster to that checkpoint, also the tables of other models",
            self._checkpoint,
        )

    def drop(self) -> None:
        folders.remove(Shards(self._cluster.session), self._checkpoint)
