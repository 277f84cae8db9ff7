"""Writes dense weights to files, each with the name of a checkpoint of rows."""

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
    """Writes and removes the files of dense weights in a folder.

    Args:
        folder: A folder on this machine, which is created if it is missing.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, checkpoint: str) -> str:
        """Returns the path of the weights file of a checkpoint, given its folder."""
        name = checkpoint.rstrip("/").rpartition("/")[2]
        return os.path.join(self._folder, name + _SUFFIX)

    def save(self, model: Any, checkpoint: str) -> None:
        """Saves a model's dense weights to a file that appears once it is complete."""
        os.makedirs(self._folder, exist_ok=True)
        with replaced(self.path(checkpoint)) as unfinished, rows_stay():
            model.save_weights(unfinished, overwrite=True)

    @staticmethod
    def take_part(model: Any) -> None:
        """Takes part, on a worker other than the chief, in saving a model's weights.

        Keras can save the weights only if all workers take part, but only the chief's
        file is retained.
        """
        with tempfile.TemporaryDirectory() as folder, rows_stay():
            model.save_weights(os.path.join(folder, "unused" + _SUFFIX))

    def remove(self, checkpoint: str) -> None:
        """Removes the weights file of a checkpoint that failed, if the file exists."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.path(checkpoint))

    def keep(self, checkpoints: Iterable[str]) -> None:
        """Removes the weights files of all checkpoints other than `checkpoints`."""
        kept = {os.path.basename(self.path(one)) for one in checkpoints}
        for name in os.listdir(self._folder):
            if name.startswith("ckpt-") and name.endswith(_SUFFIX) and name not in kept:
                os.remove(os.path.join(self._folder, name))
