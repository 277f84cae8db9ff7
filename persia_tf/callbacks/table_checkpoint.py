"""A Keras callback that saves checkpoints of rows during training."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from persia_tf import checkpoint, errors
from persia_tf._keras import keras
from persia_tf.base import checks
from persia_tf.callbacks.weights_files import WeightsFiles
from persia_tf.checkpoint.saving import SaveOptions, checked_max_to_keep
from persia_tf.cluster import Cluster
from persia_tf.current_cluster import cluster_in_use
from persia_tf.layers.workers import Workers
from persia_tf.saving.contexts import rows_stay

if TYPE_CHECKING:
    from typing_extensions import Unpack

_MOST_BATCHES = 2**62
_LONGEST_CHAIN = 10**6


class TableCheckpoint(keras.callbacks.Callback):
    """Saves the rows of all tables during training, with `ptf.checkpoint.save`.

    Training waits until its updates are applied and the shards have frozen their rows,
    which are then written in the background. Each save ends before the next save
    begins, and before `fit` returns.

    With a `weights_folder`, each save also writes the model's dense weights of the same
    step to a file in that folder. The file has the checkpoint's name. Keras's callbacks
    `ModelCheckpoint` and `BackupAndRestore` save more of the model, including its
    optimizer, together with the rows, but training waits until they have finished.

    With `whole_every`, most saves are increments: each writes only what changed since
    the previous save, and can be restored only together with that save. A whole save
    writes all rows. The first save is whole, and so is the first save after `restore`
    or after a shard was restarted.

    If a save cannot start, `fit` raises the error. If a save fails in the background,
    the error is logged and training continues, since earlier checkpoints are not
    affected. If that was the last save of a `fit`, `fit` raises the error at its end.

    Under a strategy with several workers only the chief saves. Updates of the other
    workers that were in flight may be missing from the checkpoint.

    Example:

    ```python
    saving = ptf.callbacks.TableCheckpoint(
        "run1", save_freq=10_000, weights_folder="weights"
    )
    try:
        saving.restore(model)
    except ptf.errors.NotFoundError:
        pass  # The first run has no checkpoint.
    model.fit(train, callbacks=[saving])
    ```

    Args:
        path: The folder for this run's checkpoints, as for `ptf.checkpoint.save`.
        save_freq: `"epoch"` to save at the end of each epoch, or an integer to save
            whenever this many batches were trained since the last save. Defaults to
            `"epoch"`.
        cluster: The `persia_tf.Cluster`. Defaults to the cluster of `ptf.use_cluster`,
            else to that of the environment.
        weights_folder: A folder on this machine for files of dense weights. If None,
            dense weights are not saved. Defaults to None.
        whole_every: One of every `whole_every` saves is whole, and the others are
            increments. With 1, all saves are whole. Defaults to `1`.
        **options: The option `max_to_keep` of `ptf.checkpoint.save`. Checkpoints that a
            retained increment depends on are retained too. A file in `weights_folder`
            is removed together with its checkpoint.

    Attributes:
        last_saved: The folder of the last complete checkpoint, or None.

    Raises:
        TypeError: for an unknown option, or a `save_freq` or `whole_every` of another
            type.
        ValueError: for a `save_freq` other than `"epoch"` or a valid number of batches,
            or a `whole_every` or `max_to_keep` out of its range.
    """

    # This attribute keeps tf_keras from copying the logs of every batch for this
    # callback, which does not use them.
    _supports_tf_logs = True

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        save_freq: str | int = "epoch",
        cluster: Cluster | None = None,
        weights_folder: str | os.PathLike[str] | None = None,
        whole_every: int = 1,
        **options: Unpack[SaveOptions],
    ) -> None:
        super().__init__()
        unknown = sorted(set(options) - set(SaveOptions.__annotations__))
        if unknown:
            raise TypeError(
                "`TableCheckpoint` passes only these arguments on to "
                f"`ptf.checkpoint.save`: {sorted(SaveOptions.__annotations__)}. "
                f"Received: {', '.join(unknown)}"
            )
        if save_freq != "epoch":
            if isinstance(save_freq, str):
                raise ValueError(
                    "`save_freq` must be 'epoch' or a number of batches. "
                    f"Received: save_freq={save_freq!r}"
                )
            save_freq = checks.integer("save_freq", save_freq, 1, _MOST_BATCHES)
        self.last_saved: str | None = None
        self._path = path
        self._save_freq = save_freq
        self._cluster = cluster if cluster is not None else cluster_in_use()
        self._whole_every = checks.integer(
            "whole_every", whole_every, 1, _LONGEST_CHAIN
        )
        self._options = options
        checked_max_to_keep(options.get("max_to_keep"))
        self._weights = (
            None if weights_folder is None else WeightsFiles(os.fspath(weights_folder))
        )
        self._running: checkpoint.Save | None = None
        self._error: errors.PersiaError | None = None
        self._last_batch = -1
        self._batches = 0  # How many batches were trained since the last save.
        # The number of complete saves since the last whole save, including that save.
        self._chain = 0

    def restore(self, model: Any) -> str:
        """Restores the newest checkpoint and, from `weights_folder`, its dense weights.

        Args:
            model: The built model.

        Returns:
            The checkpoint's folder.

        Raises:
            NotFoundError: if there is no complete checkpoint.
            OSError: if the checkpoint's file of dense weights is missing.
            PersiaError: for the reasons that `ptf.checkpoint.restore` documents.
        """
        folder = self._restore_rows()
        if self._weights is not None:
            with rows_stay():
                model.load_weights(self._weights.path(folder))
        return folder

    def on_train_begin(self, logs: Any = None) -> None:
        self._error = None

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._last_batch = -1

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        # With `steps_per_execution`, Keras calls this once for several batches, so
        # that `batch` grows by more than 1.
        self._batches += batch - self._last_batch
        self._last_batch = batch
        if self._is_due():
            self._save()
        elif self._running is not None and self._running.done():
            self._join()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._save_freq == "epoch":
            self._save()

    def on_train_end(self, logs: Any = None) -> None:
        self._join()
        if self._error is not None:
            raise self._error

    def _is_due(self) -> bool:
        """Returns whether enough batches were trained since the last save."""
        return self._save_freq != "epoch" and self._batches >= self._save_freq

    def _restore_rows(self) -> str:
        # After a restore, shards do not know what changed since the last save, so the
        # next save must be whole.
        self._chain = 0
        return checkpoint.restore(self._path, cluster=self._cluster)

    def _extra(self, batches: int) -> bytes:
        """Returns what to save with the rows.

        Args:
            batches: How many batches were trained since the last save.
        """
        del batches
        return b""

    def _saved(self) -> None:
        """Is called once a save is complete, before the next one begins."""

    def _save(self) -> None:
        batches, self._batches = self._batches, 0
        if not Workers.of(self.model).is_chief:
            if self._weights is not None:
                self._weights.take_part(self.model)
            return
        self._join()
        self._error = None
        self._running = checkpoint.save(
            self._path,
            cluster=self._cluster,
            incremental=0 < self._chain < self._whole_every,
            block=False,
            extra=self._extra(batches),
            **self._options,
        )
        if self._weights is not None:
            self._weights.save(self.model, self._running.folder)

    def _join(self) -> None:
        """Waits until the save that is running, if any, has ended."""
        if self._running is None:
            return
        running, self._running = self._running, None
        try:
            self.last_saved = running.wait()
        except errors.PersiaError as error:  # `Save` logged it.
            self._error = error
            if self._weights is not None:
                self._weights.remove(running.folder)
            return
        self._chain = self._chain + 1 if running.is_incremental else 1
        if self._weights is not None and running.kept is not None:
            self._weights.keep(running.kept)
        self._saved()
