"""Numbers, finds and removes the folders of checkpoints."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Sequence
from typing import Protocol

from persia_tf import errors
from persia_tf.checkpoint import manifest as manifest_lib

_NOT_A_FOLDER = os.strerror(errno.ENOTDIR)
_NAME = re.compile(r"ckpt-(\d{8})$")


class Files(Protocol):
    """Accesses small files in folders, either through the shards or directly."""

    def list_folder(self, folder: str) -> list[str]:
        """Returns the names in a folder; an empty list if the folder is missing."""

    def read_file(self, folder: str, name: str) -> bytes:
        """Returns the contents of a small file."""

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file atomically."""

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files, and may remove their folder too if that leaves it empty."""


def next_folder(files: Files, path: str) -> str:
    """Returns a folder in `path` for a checkpoint newer than all others in `path`."""
    numbers = [
        int(match[1]) for match in map(_NAME.match, _names_in(files, path)) if match
    ]
    return f"{path}/ckpt-{max(numbers, default=0) + 1:08d}"


def complete(files: Files, path: str) -> list[str]:
    """Returns the folders of the complete checkpoints in `path`, the oldest first.

    A checkpoint is complete if it has a manifest. A checkpoint without a manifest is
    still being written, or was never finished.
    """
    names = [name for name in _names_in(files, path) if _NAME.match(name)]
    folders = [f"{path}/{name}" for name in sorted(names)]
    return [folder for folder in folders if is_complete(files, folder)]


def is_complete(files: Files, folder: str) -> bool:
    """Returns whether `folder` is a complete checkpoint."""
    return manifest_lib.FILE_NAME in _names_in(files, folder)


def find(files: Files, path: str) -> str:
    """Returns `path` if it is a checkpoint, else the newest checkpoint in `path`.

    Raises:
        NotFoundError: if `path` neither is nor contains a complete checkpoint.
    """
    if is_complete(files, path):
        return path
    found = complete(files, path)
    if not found:
        raise errors.NotFoundError(
            f"there is no checkpoint at {path!r}, and none inside it. Give the folder "
            "that was given to `ptf.checkpoint.save`, or a checkpoint in that folder."
        )
    return found[-1]


def read_manifest(files: Files, folder: str) -> manifest_lib.Manifest:
    """Reads and parses the manifest of a checkpoint."""
    text = files.read_file(folder, manifest_lib.FILE_NAME)
    return manifest_lib.Manifest.from_bytes(text, folder)


def remove(files: Files, folder: str) -> None:
    """Removes the files of a checkpoint.

    The manifest is removed first, so that a checkpoint which is only partly removed
    never counts as complete.
    """
    names = files.list_folder(folder)
    if manifest_lib.FILE_NAME in names:
        files.remove_files(folder, [manifest_lib.FILE_NAME])
    files.remove_files(folder, names)


def _names_in(files: Files, path: str) -> list[str]:
    """Returns the names in a folder; an empty list if the folder is missing.

    Raises:
        InvalidArgumentError: if `path` is a file, or is below one.
    """
    try:
        return files.list_folder(path)
    except errors.UnavailableError as error:
        if _NOT_A_FOLDER not in str(error):
            raise
        raise errors.InvalidArgumentError(
            "`path` must be a folder of checkpoints, or a path at which there is "
            "nothing yet, but a file is there or above it. Give another path, or move "
            f"the file away. Received: path={path!r}"
        ) from error
