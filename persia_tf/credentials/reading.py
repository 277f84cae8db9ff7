"""Reads the files that hold a process's credentials."""

from __future__ import annotations

import os
import stat

from persia_tf import errors

_ROOT = 0


def read_secret(what: str, path: str, most_bytes: int) -> bytes:
    """Reads a file that only its owner, or root and its group, may access.

    A file that belongs to root may be readable by its group, so that a process that
    does not run as root can read it: this is how Kubernetes mounts a Secret for the
    group of a pod.

    Args:
        what: The kind of file, for messages, such as "token file".
        path: The file's path.
        most_bytes: The maximum number of bytes to read.

    Returns:
        The file's content, up to `most_bytes`.

    Raises:
        InvalidArgumentError: If the file cannot be read, or its mode gives access to
            other users, or to its group more access than the rule above.
    """
    return _read(what, path, most_bytes, is_secret=True)


def read_public(what: str, path: str, most_bytes: int) -> bytes:
    """Reads a file like `read_secret`, but accepts every file mode."""
    return _read(what, path, most_bytes, is_secret=False)


def _read(what: str, path: str, most_bytes: int, is_secret: bool) -> bytes:
    try:
        with open(path, "rb") as file:
            if is_secret:
                _check_access(what, path, os.fstat(file.fileno()))
            return file.read(most_bytes)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"the {what} {path} cannot be read: {error.strerror}"
            + _who_may_read(path, error)
        ) from error


def _check_access(what: str, path: str, file: os.stat_result) -> None:
    group = stat.S_IRGRP if file.st_uid == _ROOT else 0
    if file.st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~group:
        raise errors.InvalidArgumentError(
            f"the {what} {path} must be accessible only to its owner, or be root's and "
            f"readable by its group, but it belongs to user {file.st_uid} and its mode "
            f"is {stat.S_IMODE(file.st_mode):03o}: run `chmod 600 {path}`, or for a "
            "Secret of Kubernetes set `defaultMode: 0440`"
        )


def _who_may_read(path: str, error: OSError) -> str:
    """Returns the end of a message about a file that this user must not read."""
    if not isinstance(error, PermissionError):
        return ""
    try:
        file = os.stat(path)
    except OSError:  # A folder on the way to the file cannot be searched.
        return f" to user {os.geteuid()}"
    return (
        f" to user {os.geteuid()}: the file belongs to user {file.st_uid} and group "
        f"{file.st_gid}, and its mode is {stat.S_IMODE(file.st_mode):03o}"
    )
