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
    """Yields the name of a file to write, which replaces `path` at the end.

    If the block raises, `path` is unchanged.

    Args:
        path: A file. A URL is yielded unchanged: most URLs point to object stores,
            which replace objects atomically themselves.
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
    """Stands in for a model, and saves it to files that appear when complete."""

    def save(self, filepath: str, **options: Any) -> None:
        """Saves the model, with the arguments of its `save`."""
        with replaced(filepath) as unfinished:
            self._whole.save(unfinished, **options)

    def save_weights(self, filepath: str, **options: Any) -> None:
        """Saves the model's weights, with the arguments of its `save_weights`."""
        with replaced(filepath) as unfinished:
            self._whole.save_weights(unfinished, **options)
