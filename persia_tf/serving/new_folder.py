"""Creates folders that appear complete or not at all."""

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
    server that looks for new versions never loads an incomplete version. If the `with`
    block raises, the temporary folder is removed; if the program is killed, the folder
    is left behind as `NAME.unfinished-...`.

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
            "`path` must be an empty folder or not exist yet, so that no server loads "
            f"a partly written export. Received: path={path!r}"
        )


def _let_others_read(folder: str) -> None:
    mask = os.umask(0)
    os.umask(mask)
    # `mkdtemp` creates folders that only their owner can read. This sets the same
    # permissions as `os.mkdir` would.
    os.chmod(folder, 0o777 & ~mask)
