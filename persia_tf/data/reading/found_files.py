"""Finds the files that a program names."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from persia_tf import errors
from persia_tf.files import failures, libraries
from persia_tf.files.paths import is_url


def find_files(files: Any) -> list[str]:
    """Returns the files of some names, in the order of the names, each name's sorted.

    Args:
        files: A name or a sequence of names. A name is a file, a folder, of which all
            files are meant whose names do not begin with `.` or `_`, or a pattern such
            as `"day_*.parquet"`; on this machine, or a URL.

    Raises:
        TypeError: if a name is of another type.
        NotFoundError: if there is no file of a name.
    """
    names = [files] if isinstance(files, (str, os.PathLike)) else files
    found: list[str] = []
    if not isinstance(names, Sequence) or not names:
        raise TypeError(
            "`files` must be a path, or a sequence of paths that is not empty. "
            f"Received: files={files!r}"
        )
    for name in names:
        if not isinstance(name, (str, os.PathLike)):
            raise TypeError(f"`files` must contain paths only. Received: {name!r}")
        of_name = _files_of(os.fspath(name))
        if not of_name:
            raise errors.NotFoundError(f"there is no file {os.fspath(name)!r}")
        found += of_name
    return found


def _files_of(name: str) -> list[str]:
    with failures.as_errors("list", name):
        if is_url(name):
            return _at_url(name)
        if os.path.isdir(name):
            return _visible(entry.path for entry in os.scandir(name) if entry.is_file())
        if os.path.exists(name):
            return [name]
        return sorted(glob.glob(name, recursive=True))


def _at_url(url: str) -> list[str]:
    system = libraries.find(url)
    path = libraries.path_at(url)
    scheme = url.partition("://")[0]
    if glob.has_magic(path):
        paths = sorted(system.glob(path))
    elif system.isdir(path):
        inside = system.ls(path, detail=True)
        paths = _visible(each["name"] for each in inside if each["type"] == "file")
    else:
        paths = [path] if system.exists(path) else []
    return [f"{scheme}://{each}" for each in paths]


def _visible(paths: Any) -> list[str]:
    return sorted(each for each in paths if os.path.basename(each)[:1] not in "._")
