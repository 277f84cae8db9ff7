"""Files of dense weights that belong to checkpoints of rows, and share their names."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable
from typing import Any

from persia_tf.callbacks.whole_files import replaced
from persia_tf.saving.contexts import rows_stay

_SUFFIX = ".weights.h5"


class WeightsFiles:
    """The files of dense weights in a folder.

    Args:
        folder: A folder on this machine, which is created if it is missing.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, checkpoint: str) -> str:
        """Returns the file that belongs to a checkpoint's folder."""
        name = checkpoint.rstrip("/").rpartition("/")[2]
        return os.path.join(self._folder, name + _SUFFIX)

    def save(self, model: Any, checkpoint: str) -> None:
        """Saves a model's weights. The file appears only once it is complete."""
        os.makedirs(self._folder, exist_ok=True)
        with replaced(self.path(checkpoint)) as unfinished, rows_stay():
            model.save_weights(unfinished, overwrite=True)

    @staticmethod
    def take_part(model: Any) -> None:
        """Takes part in `save` on a worker other than the chief; keeps no file.

        Saving a model's weights requires all of its workers.
        """
        with tempfile.TemporaryDirectory() as folder, rows_stay():
            model.save_weights(os.path.join(folder, "unused" + _SUFFIX))

    def remove(self, checkpoint: str) -> None:
        """Removes the file of a checkpoint that failed, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path(checkpoint))

    def keep(self, checkpoints: Iterable[str]) -> None:
        """Removes the files of all other checkpoints."""
        kept = {os.path.basename(self.path(one)) for one in checkpoints}
        for name in os.listdir(self._folder):
            if name.startswith("ckpt-") and name.endswith(_SUFFIX) and name not in kept:
                os.remove(os.path.join(self._folder, name))
