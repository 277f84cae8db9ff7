"""Reads the files that hold a process's credentials."""

from __future__ import annotations

import os
import stat

from persia_tf import errors

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(what: str, path: str, most_bytes: int) -> bytes:
    """Reads a file that only its owner may access.

    Args:
        what: The kind of file, for messages, such as "token file".
        path: The file's path.
        most_bytes: The maximum number of bytes to read.

    Returns:
        The file's content, up to `most_bytes`.

    Raises:
        InvalidArgumentError: If the file cannot be read, or its mode gives any access
            to its group or to other users.
    """
    return _read(what, path, most_bytes, is_secret=True)


def read_public(what: str, path: str, most_bytes: int) -> bytes:
    """Reads a file like `read_secret`, but accepts every file mode."""
    return _read(what, path, most_bytes, is_secret=False)


def _read(what: str, path: str, most_bytes: int, is_secret: bool) -> bytes:
    try:
        with open(path, "rb") as file:
            if is_secret:
                _check_mode(what, path, os.fstat(file.fileno()).st_mode)
            return file.read(most_bytes)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"the {what} {path} cannot be read: {error.strerror}"
        ) from error


def _check_mode(what: str, path: str, mode: int) -> None:
    if mode & _OTHERS:
        raise errors.InvalidArgumentError(
            f"the {what} {path} must be accessible only to its owner, but its mode is "
            f"{stat.S_IMODE(mode):03o}: run `chmod 600 {path}`"
        )
