"""Keras's callbacks that write files, adapted to several workers.

tf_keras's own callbacks make workers other than the chief write to temporary folders.
With the callbacks of Keras 3, all workers would write the same files at the same time,
so this module adapts these callbacks.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.callbacks.whole_files import WholeFilesModel
from persia_tf.layers.workers import Workers

if not IS_KERAS_3:
    ModelCheckpoint = keras.callbacks.ModelCheckpoint
    BackupAndRestore = keras.callbacks.BackupAndRestore
else:

    class ModelCheckpoint(keras.callbacks.ModelCheckpoint):
        """A `keras.callbacks.ModelCheckpoint` with which only the chief writes files.

        Pass the callback to `fit` on every worker, since all workers take part in
        saving a model. A new file replaces the earlier file only once the new file is
        complete. Everything else is as in Keras's callback.

        Example:

        ```python
        saving = ptf.callbacks.ModelCheckpoint("model-{epoch:02d}.keras")
        model.fit(train, epochs=10, callbacks=[saving])
        ```

        The arguments are those of Keras's callback.
        """

        _folder: Any = None

        @property
        def model(self) -> Any:
            return WholeFilesModel(super().model)

        def set_model(self, model: Any) -> None:
            super().set_model(model)
            if not Workers.of(model).is_chief and self._folder is None:
                self._folder = tempfile.TemporaryDirectory()
                name = os.path.basename(self.filepath)
                self.filepath = os.path.join(self._folder.name, name)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            super().on_train_batch_end(batch, logs)
            self._forget()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            super().on_epoch_end(epoch, logs)
            self._forget()

        def _forget(self) -> None:
            """Removes the temporary files of a worker that is not the chief."""
            if self._folder is not None:
                for entry in os.scandir(self._folder.name):
                    os.remove(entry.path)

    class BackupAndRestore(keras.callbacks.BackupAndRestore):
        """A `keras.callbacks.BackupAndRestore` with which only the chief writes files.

        Pass the callback to `fit` on every worker. Every worker must be able to read
        `backup_dir`, since all workers restore the backup that the chief wrote. A new
        backup replaces the previous backup only once the new backup is complete.
        Everything else is as in Keras's callback.

        Example:

        ```python
        backing_up = ptf.callbacks.BackupAndRestore("/shared/backup")
        model.fit(train, epochs=10, callbacks=[backing_up])
        ```

        Args:
            backup_dir: As for `keras.callbacks.BackupAndRestore`: a folder that all
                workers share.
            **kwargs: As for `keras.callbacks.BackupAndRestore`.
        """

        def __init__(self, backup_dir: str, *args: Any, **kwargs: Any) -> None:
            super().__init__(backup_dir, *args, **kwargs)
            self._options = (args, kwargs)
            self._folder: Any = None
            self._elsewhere: keras.callbacks.Callback | None = None

        @property
        def model(self) -> Any:
            return WholeFilesModel(super().model)

        def set_model(self, model: Any) -> None:
            super().set_model(model)
            self._workers = Workers.of(model)
            if self._workers.is_chief:
                return
            if self._elsewhere is None:
                args, kwargs = self._options
                self._folder = tempfile.TemporaryDirectory()
                folder = os.path.join(self._folder.name, "backup")
                self._elsewhere = keras.callbacks.BackupAndRestore(
                    folder, *args, **kwargs
                )
            self._elsewhere.set_model(model)

        def on_train_begin(self, logs: Any = None) -> None:
            # Keras's callback replaces an unreadable backup with the previous one. The
            # chief makes this repair before the workers read the backup, so that they
            # do not all try to repair the same files.
            self._workers.together(self._repair)
            super().on_train_begin(logs)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._writer().on_train_batch_end(batch, logs)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self._writer().on_epoch_end(epoch, logs)

        def on_train_end(self, logs: Any = None) -> None:
            self._writer().on_train_end(logs)

        def _writer(self) -> Any:
            return super() if self._elsewhere is None else self._elsewhere

        def _repair(self) -> None:
            if self._workers.has_others and self._workers.is_chief:
                repairing = keras.callbacks.BackupAndRestore(self.backup_dir)
                repairing.set_model(_OpensFiles())
                repairing.on_train_begin()

    class _OpensFiles:
        """A fake model whose `load_weights` only checks that a backup can be opened."""

        built = True
        optimizer = None

        def load_weights(self, filepath: str) -> None:
            import h5py  # Keras 3 depends on h5py.

            h5py.File(filepath, "r").close()
