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
from persia_tf.saving.replacing import replace_rows


class RowSaving:
    """Saves and loads the rows of a built layer.

    With several workers, every worker must call `save` or `load`. All workers wait
    until the updates of all workers are applied. Then only the chief saves or loads
    rows, while the other workers wait.

    Args:
        layer: The layer's name, for messages.
        table: The layer's table.
        workers: The workers that train the layer.

    Attributes:
        layer: The layer's name.
        table: The layer's table, as a `ptf.Table`.
        has_loaded: Whether this worker has loaded rows into the table.
    """

    def __init__(self, layer: str, table: LayerTable, workers: Workers) -> None:
        self.layer = layer
        self.table = table.rows
        self._layer_table = table
        self.has_loaded = False
        self._workers = workers

    def save(self, store: Any) -> None:
        """Saves the rows, unless the caller is within `ptf.rows_stay()`.

        If the rows exceed the cluster's `archive_limit`, the shards write them as a
        checkpoint, and the store gets only a reference to the checkpoint.

        Args:
            store: A mapping from names to arrays, which the caller writes to a file.

        Raises:
            FailedPreconditionError: if the rows exceed `archive_limit`, and the cluster
                has no `checkpoint_root`.
            PersiaError: if a shard does not answer, or an update could not be
                delivered.
        """
        if do_rows_stay():
            return
        self._workers.together(self.table.cluster.flush)
        self._workers.together(lambda: self._store(store))

    def load(self, store: Any) -> None:
        """Replaces the table's rows by the rows that `save` put into a store.

        If the store contains no rows, logs a warning and leaves the table unchanged.
        Within `ptf.rows_stay()`, does nothing.

        Args:
            store: A mapping from names to arrays.

        Raises:
            FailedPreconditionError: if prefetched batches hold the table's old rows.
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
                f"rows, more than the limit of {cluster.archive_limit} for the rows of "
                "a layer in one file. Give Cluster(checkpoint_root=...), so that the "
                "shards save the rows as a checkpoint beside the file; or raise the "
                "limit, by Cluster(archive_limit=...); or save the dense weights "
                "within `ptf.rows_stay()`, and the rows by `ptf.checkpoint.save`."
            )

    def _before_load(self) -> None:
        cluster = self.table.cluster
        cluster.flush()
        ahead = cluster.session.counters()["batches_registered"]
        if ahead:
            raise errors.FailedPreconditionError(
                f"layer '{self.layer}': rows cannot be loaded while {ahead} batches of "
                "a `ptf.data.prefetch` wait with the old rows. Load between two calls "
                "of `fit`, and delete iterators of the dataset that are still open."
            )

    def _load_on_chief(self, store: Any) -> None:
        if not self._workers.is_chief:
            return
        saved = stored_rows.read_header(store)
        if saved is None:
            logging.warning(
                "layer '%s': what is loaded holds no rows, so table '%s' keeps the "
                "rows that it has",
                *(self.layer, self.table.name),
            )
            return
        saved.check_fits(self._layer_table.header())
        self._layer_table.decide_as_saved(saved.optimizer)
        if saved.checkpoint is not None:
            beside.restore_beside(self.table.cluster, saved.checkpoint)
        else:
            replace_rows(self.table, self._layer_table.header(), store, saved)
        self.has_loaded = True
        cluster = self.table.cluster
        cluster.session.loaded.add(cluster.full_name(self.table.name))
