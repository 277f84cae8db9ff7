"""Saves and loads a layer's rows through the savers of Keras and TensorFlow."""

from __future__ import annotations

import dataclasses
from typing import Any

from absl import logging

from persia_tf import errors
from persia_tf.layers.layer_table import LayerTable
from persia_tf.layers.workers import Workers
from persia_tf.saving import beside, stored_rows
from persia_tf.saving.contexts import do_rows_stay
from persia_tf.saving.replacing import replace_rows, warn_of_missing


class RowSaving:
    """Saves and loads the rows of a built layer.

    With several workers, every worker must call `save` or `load`. They all wait until
    the updates of all workers are applied; then only the chief reads or writes rows,
    while the others wait.

    Args:
        layer: The layer's name, for messages.
        table: The layer's table.
        workers: The workers that train the layer.

    Attributes:
        layer: As given.
        table: The rows of its table.
        has_loaded: Whether rows were loaded.
    """

    def __init__(self, layer: str, table: LayerTable, workers: Workers) -> None:
        self.layer = layer
        self.table = table.rows
        self._layer_table = table
        self.has_loaded = False
        self._workers = workers

    def save(self, store: Any) -> None:
        """Saves the rows to a store of arrays, or beside it in a checkpoint.

        Raises:
            FailedPreconditionError: if the rows exceed the cluster's `archive_limit`
                and it has no `checkpoint_root`.
            PersiaError: if a shard does not answer, or an update could not be
                delivered.
        """
        if do_rows_stay():
            return
        self._workers.together(self.table.cluster.flush)
        self._workers.together(lambda: self._store(store))

    def load(self, store: Any) -> None:
        """Replaces the table's rows by those of a store, if it has any.

        Raises:
            FailedPreconditionError: if prefetched batches hold rows from before.
            ValueError: if the saved rows come from a table with other settings.
            PersiaError: if a shard does not answer.
        """
        if do_rows_stay():
            return
        self._workers.together(self._before_load)
        self._layer_table.own()
        self._workers.together(lambda: self._load_on_chief(store))
        if not self._workers.is_chief:
            self.table.forget_copies()

    def _store(self, store: Any) -> None:
        header = self._layer_table.header()
        if not self._workers.is_chief:
            header = dataclasses.replace(header, by_chief=False)
            stored_rows.store_header(store, header)
            return
        size = stored_rows.stored_bytes(self.table)
        if size <= self.table.cluster.archive_limit:
            stored_rows.store_rows(store, self.table, header)
            return
        self._check_there_is_a_folder(size)
        checkpoint = beside.save_beside(self.table.cluster)
        header = dataclasses.replace(
            header, rows=len(self.table), checkpoint=checkpoint
        )
        stored_rows.store_header(store, header)

    def _check_there_is_a_folder(self, size: int) -> None:
        cluster = self.table.cluster
        if cluster.checkpoint_root is None:
            raise errors.FailedPreconditionError(
                f"layer '{self.layer}': table '{self.table.name}' has {size} bytes of "
                f"rows, more than the {cluster.archive_limit} that a file may hold of "
                "a layer. Name a folder for a checkpoint beside it, "
                "Cluster(checkpoint_root=...); or allow more, "
                "Cluster(archive_limit=...); or save within `ptf.rows_stay()`, and "
                "the rows by `ptf.checkpoint.save`."
            )

    def _before_load(self) -> None:
        cluster = self.table.cluster
        cluster.flush()
        ahead = cluster.session.counters()["registered"]
        if ahead:
            raise errors.FailedPreconditionError(
                f"layer '{self.layer}': rows cannot be loaded while {ahead} batches of "
                "a `ptf.data.prefetch` wait with rows from before. Load between two "
                "calls of `fit`, and let go of iterators of the dataset."
            )

    def _load_on_chief(self, store: Any) -> None:
        if not self._workers.is_chief:
            return
        saved = stored_rows.read_header(store)
        if saved is None:
            logging.warning(
                "layer '%s': what is loaded holds no rows, so those of table '%s' stay "
                "as they are",
                *(self.layer, self.table.name),
            )
            return
        saved.check_fits(self._layer_table.header())
        self._layer_table.decide_as_saved(saved.optimizer)
        if saved.checkpoint is not None:
            beside.restore_beside(self.table.cluster, saved.checkpoint)
            warn_of_missing(self.table, saved)
        else:
            replace_rows(self.table, self._layer_table.header(), store, saved)
        self.has_loaded = True
        cluster = self.table.cluster
        cluster.session.loaded.add(cluster.full_name(self.table.name))
