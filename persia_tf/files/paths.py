"""Access to files on this machine or at a URL, for programs and commands."""

from __future__ import annotations

import contextlib
import os

from persia_tf.files import failures
from persia_tf.files.remote import RemoteFiles


def is_url(path: str) -> bool:
    """Returns whether a path is a URL, by the same rule as the native core."""
    return "://" in path


def list_folder(path: str) -> list[str]:
    """Returns the sorted names in a folder; none if the folder does not exist.

    Raises:
        PersiaError: if the folder cannot be listed.
    """
    with failures.as_errors("list", path):
        try:
            if is_url(path):
                return sorted(RemoteFiles.shared().names(path))
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []


def make_folder(path: str) -> None:
    """Creates a folder and its parents, unless they exist or need no creation.

    Raises:
        PersiaError: if the folder cannot be created.
    """
    with failures.as_errors("create", path):
        if is_url(path):
            RemoteFiles.shared().make_folder(path)
        else:
            os.makedirs(path, exist_ok=True)


def read_file(path: str) -> bytes:
    """Reads a small file.

    Raises:
        NotFoundError: if the file does not exist.
        PersiaError: if the file cannot be read.
    """
    with failures.as_errors("read", path):
        if is_url(path):
            return RemoteFiles.shared().contents(path)
        with open(path, "rb") as file:
            return file.read()


def size_of(path: str) -> int:
    """Returns the size of a file in bytes.

    Raises:
        PersiaError: if the size cannot be read.
    """
    with failures.as_errors("look at", path):
        if is_url(path):
            return RemoteFiles.shared().size(path)
        return os.path.getsize(path)


def write_file(path: str, contents: bytes) -> None:
    """Writes a small file atomically and durably: the file survives a loss of power.

    Raises:
        PersiaError: if the file cannot be written.
    """
    with failures.as_errors("write", path):
        if is_url(path):
            RemoteFiles.shared().write_whole(path, contents)
            return
        with open(f"{path}.tmp", "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.tmp", path)
        _sync_folder(os.path.dirname(path))


def remove_file(path: str) -> None:
    """Removes a file, if it exists.

    Raises:
        PersiaError: if the file cannot be removed.
    """
    with failures.as_errors("remove", path):
        if is_url(path):
            RemoteFiles.shared().remove(path)
            return
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
