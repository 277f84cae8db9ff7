"""Saves models to files that appear only once they are complete."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from persia_tf import files
from persia_tf.callbacks.stand_in import StandIn


@contextlib.contextmanager
def replaced(path: str) -> Iterator[str]:
    """Yields the name of a temporary file, which replaces `path` when the block ends.

    If the block raises, `path` is unchanged.

    Args:
        path: The file to replace. A URL is yielded unchanged, since most URLs point to
            object stores, which replace objects atomically themselves.
    """
    if files.is_url(path):
        yield path
        return
    folder, name = os.path.split(path)
    unfinished = os.path.join(folder, f".unfinished-{name}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(unfinished)


class WholeFilesModel(StandIn):
    """Wraps a model, and saves the model to files that appear only once complete."""

    def save(self, filepath: str, **options: Any) -> None:
        """Saves the model; the arguments are those of the model's own `save`."""
        with replaced(filepath) as unfinished:
            self._whole.save(unfinished, **options)

    def save_weights(self, filepath: str, **options: Any) -> None:
        """Saves the model's weights; the arguments are those of its `save_weights`."""
        with replaced(filepath) as unfinished:
            self._whole.save_weights(unfinished, **options)
