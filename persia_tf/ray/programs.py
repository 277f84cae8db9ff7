"""Runs a program's file within a process of Ray, as `python FILE` would."""

from __future__ import annotations

import numbers
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from persia_tf import errors


def argument(value: Any) -> str:
    """Returns an argument of a program as a str.

    Raises:
        TypeError: If it is neither a str, a number nor a path.
    """
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    raise TypeError(
        "a program's arguments must be strings, numbers or paths, as on a command "
        f"line. Received: {value!r}"
    )


def run(path: str, folder: str, arguments: Sequence[str]) -> None:
    """Runs a Python file as `__main__`.

    Args:
        path: The file.
        folder: The folder that a relative path begins in. If this node has no such
            file, the path may begin in a folder of `sys.path`, to which Ray adds the
            `working_dir` of its `runtime_env`.
        arguments: The program's arguments.

    Raises:
        NotFoundError: If there is no such file on this node.
        RuntimeError: If the program exits with another code than 0.
    """
    found = _find(path, folder)
    with _as_main(found, arguments):
        try:
            runpy.run_path(found, run_name="__main__")
        except SystemExit as exit:
            if exit.code not in (None, 0):
                raise RuntimeError(f"{path} ended with exit code {exit.code}") from exit


def _find(path: str, folder: str) -> str:
    for each in (folder, *sys.path):
        candidate = os.path.abspath(os.path.join(each, path))
        if os.path.isfile(candidate):
            return candidate
    raise errors.NotFoundError(
        f"there is no {path} on this node ({os.uname().nodename}): put the program's "
        "folder on every node, or let Ray copy it, with "
        '`ray.init(runtime_env={"working_dir": FOLDER})` and a path within FOLDER'
    )


@contextmanager
def _as_main(path: str, arguments: Sequence[str]) -> Iterator[None]:
    argv, folders = sys.argv, sys.path
    sys.argv = [path, *arguments]
    sys.path = [os.path.dirname(path), *folders]
    try:
        yield
    finally:
        sys.argv, sys.path = argv, folders
