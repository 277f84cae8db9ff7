"""Files that nobody ever sees in part, of models that are saved into them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from persia_tf import files
from persia_tf.callbacks.stand_in import StandIn


@contextlib.contextmanager
def replaced(path: str) -> Iterator[str]:
    """Gives the name of a file to write, which takes the place of `path` in the end.

    If it raises within, `path` stays as it was.

    Args:
        path: A file. A URL is given back as it is: stores of objects, where most of
            them lead, replace in one step themselves.
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
    """Stands for a model, and saves it into whole files."""

    def save(self, filepath: str, **options: Any) -> None:
        """As the model's."""
        with replaced(filepath) as unfinished:
            self._whole.save(unfinished, **options)

    def save_weights(self, filepath: str, **options: Any) -> None:
        """As the model's."""
        with replaced(filepath) as unfinished:
            self._whole.save_weights(unfinished, **options)
