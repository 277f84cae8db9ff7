"""Folders that come whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def new_folder(path: str) -> Iterator[str]:
    """Gives a folder to fill, which is renamed once that is done.

    It lies beside `path`, under a name that is no number: so a server that looks for
    new versions sees it whole. If filling it fails, it is removed; if the program is
    killed, it is left behind, as `NAME.unfinished-...`.

    Args:
        path: What it is in the end: absent or an empty folder until then.

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
    os.chmod(folder, 0o777 & ~mask)  # As other new folders; a temporary one is not.
