"""Folders that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Yields a temporary folder to fill, and renames it to `path` afterwards.

    The temporary folder is beside `path`, and its name is not a number, so that a
    server that looks for new versions never sees an incomplete one. If the block
    raises, the folder is removed; if the program is killed, it is left behind as
    `NAME.unfinished-...`.

    Args:
        path: The final path, which must be absent or an empty folder.

    Raises:
        ValueError: if `path` has files in it.
    """
    path = os.path.abspath(path)
    _check_is_free(path)
    parent, name = os.path.split(path)
    os.makedirs(parent, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix=f"{name}.unfinished-", dir=parent)
    try:
        yield unfinished
        _let_others_read(unfinished)
        _check_is_free(path)
        os.rename(unfinished, path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _check_is_free(path: str) -> None:
    if os.path.exists(path) and (not os.path.isdir(path) or os.listdir(path)):
        raise ValueError(
            "`path` must be a folder that is absent or empty, so that nobody serves "
            f"half of an export. Received: path={path!r}"
        )


def _let_others_read(folder: str) -> None:
    mask = os.umask(0)
    os.umask(mask)
    # `mkdtemp` creates folders that only their owner can read.
    os.chmod(folder, 0o777 & ~mask)
