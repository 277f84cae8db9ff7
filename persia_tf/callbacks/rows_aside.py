"""Rows that are kept aside while training goes on, and may be put back."""

from __future__ import annotations

import abc
import os
import tempfile
from typing import Any

import numpy as np
from absl import logging

from persia_tf import checkpoint
from persia_tf.checkpoint import folders
from persia_tf.checkpoint.shards import Shards
from persia_tf.cluster import Cluster
from persia_tf.layers import PersiaEmbedding
from persia_tf.layers.workers import Workers
from persia_tf.saving import stored_rows
from persia_tf.saving.bytes_store import BytesStore
from persia_tf.saving.header import Header
from persia_tf.saving.replacing import set_rows
from persia_tf.table import Table

# Below a cluster's `checkpoint_root`.
_FOLDER = "best"


class RowsAside:
    """Keeps the rows of a model's tables as they are, with their optimizer state.

    They are in files in a temporary folder of the chief, written and read a batch at a
    time: memory is needed for 8 bytes per row, to put them back. If a table is larger
    than its cluster's `archive_limit`, and that has a `checkpoint_root`, all tables of
    the cluster are in a checkpoint there. Layers that are frozen do not train their
    rows, which stay out of this.

    Under a strategy of several workers each of them must make every call.

    Args:
        model: A Keras model that is built.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._workers = Workers.of(model)
        self._folder = tempfile.TemporaryDirectory(prefix="persia-rows-")
        self._kept: list[_Kept] = []

    def keep(self) -> None:
        """Keeps the rows as they are, and forgets those that were kept before.

        Raises:
            OSError: if a file cannot be written.
            PersiaError: if a shard does not answer, or an update could not be
                delivered.
        """
        self._after_all_updates()
        self._workers.together(self._keep_on_chief)

    def put_back(self) -> None:
        """Makes the rows those that were kept, and removes rows made since.

        Raises:
            PersiaError: if a shard does not answer. Some rows may be put back then.
        """
        self._after_all_updates()
        self._workers.together(self._put_back_on_chief)
        if not self._workers.is_chief:
            for table in self._tables():
                table.forget_copies()

    def drop(self) -> None:
        """Forgets what was kept."""
        for kept in self._kept:
            kept.drop()
        self._kept = []
        self._folder.cleanup()

    def _after_all_updates(self) -> None:
        """Returns once no update of any worker is on its way."""
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
        """The tables of the layers that train, each once."""
        tables = {}
        for layer in self._model._flatten_layers():
            if isinstance(layer, PersiaEmbedding) and layer.built and layer.trainable:
                cluster = layer.rows.cluster
                name = cluster.full_name(layer.rows.name)
                tables[cluster.session.name, name] = layer.rows
        return list(tables.values())

    def _new_path(self) -> str:
        number, path = tempfile.mkstemp(dir=self._folder.name, suffix=".npz")
        os.close(number)
        return path


def _is_large(table: Table) -> bool:
    return stored_rows.stored_bytes(table) > table.cluster.archive_limit


class _Kept(abc.ABC):
    """Some tables as they were."""

    @abc.abstractmethod
    def put_back(self) -> None:
        """Makes the tables what they were."""

    @abc.abstractmethod
    def drop(self) -> None:
        """Removes what was kept of them."""


class _InFile(_Kept):
    """One table in a file of this machine."""

    def __init__(self, table: Table, path: str) -> None:
        self._table = table
        self._path = path
        # Of the same table: nothing of it can differ.
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
            "table '%s' has its %d rows of the best epoch again; %d newer ones were "
            "removed",
            *(self._table.name, saved.rows, removed),
        )

    def drop(self) -> None:
        os.remove(self._path)


class _InCheckpoint(_Kept):
    """All tables of a cluster, in a checkpoint of its shards."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        where = f"{cluster.checkpoint_root}/{_FOLDER}"
        saved = checkpoint.save(where, cluster=cluster, max_to_keep=None)
        self._checkpoint = saved.folder

    def put_back(self) -> None:
        checkpoint.restore(self._checkpoint, cluster=self._cluster)
        logging.warning(
            "restored checkpoint %s of the best epoch: every table of its cluster is "
            "as it was then, also those of other models",
            self._checkpoint,
        )

    def drop(self) -> None:
        folders.remove(Shards(self._cluster.session), self._checkpoint)
