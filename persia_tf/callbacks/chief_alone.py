"""Keras's callbacks that write files, for several workers.

tf_keras's own have all workers but the chief write into folders that are removed again.
Those of Keras 3 have every worker write the very same files at once.
"""

from __future__ import annotations

import os
import tempfile
from typing import Any

from persia_tf._keras import IS_KERAS_3, keras

if not IS_KERAS_3:
    ModelCheckpoint = keras.callbacks.ModelCheckpoint
    BackupAndRestore = keras.callbacks.BackupAndRestore
else:

    class ModelCheckpoint(keras.callbacks.ModelCheckpoint):
        """`keras.callbacks.ModelCheckpoint`, of which the chief alone writes files.

        Give it to every worker: to save a model takes all of them. Without a strategy
        of several workers it is Keras's own.

        Example:

        ```python
        saving = ptf.callbacks.ModelCheckpoint("model-{epoch:02d}.keras")
        model.fit(train, epochs=10, callbacks=[saving])
        ```

        It takes what Keras's takes.
        """

        _folder: Any = None

        def set_model(self, model: Any) -> None:
            super().set_model(model)
            if not _is_chief(model) and self._folder is None:
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
            """Removes what this worker wrote, if it is not the chief."""
            if self._folder is not None:
                for entry in os.scandir(self._folder.name):
                    os.remove(entry.path)

    class BackupAndRestore(keras.callbacks.BackupAndRestore):
        """`keras.callbacks.BackupAndRestore`, of which the chief alone writes files.

        Give it to every worker, each of which must reach `backup_dir`: all restore what
        the chief has written. Without a strategy of several workers it is Keras's own.

        Example:

        ```python
        backing_up = ptf.callbacks.BackupAndRestore("/shared/backup")
        model.fit(train, epochs=10, callbacks=[backing_up])
        ```

        Args:
            backup_dir: As for `keras.callbacks.BackupAndRestore`, a folder that all
                workers share.
            **kwargs: As there.
        """

        def __init__(self, backup_dir: str, *args: Any, **kwargs: Any) -> None:
            super().__init__(backup_dir, *args, **kwargs)
            self._options = (args, kwargs)
            self._folder: Any = None
            self._elsewhere: keras.callbacks.Callback | None = None

        def set_model(self, model: Any) -> None:
            super().set_model(model)
            if _is_chief(model):
                return
            if self._elsewhere is None:
                args, kwargs = self._options
                self._folder = tempfile.TemporaryDirectory()
                folder = os.path.join(self._folder.name, "backup")
                self._elsewhere = keras.callbacks.BackupAndRestore(
                    folder, *args, **kwargs
                )
            self._elsewhere.set_model(model)

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self._writer().on_train_batch_end(batch, logs)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self._writer().on_epoch_end(epoch, logs)

        def on_train_end(self, logs: Any = None) -> None:
            self._writer().on_train_end(logs)

        def _writer(self) -> Any:
            return super() if self._elsewhere is None else self._elsewhere


def _is_chief(model: Any) -> bool:
    return model.distribute_strategy.extended.should_checkpoint
