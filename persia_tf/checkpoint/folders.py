"""Where checkpoints are: numbered folders beside each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from persia_tf import errors
from persia_tf.checkpoint import manifest as manifest_lib

_NAME = re.compile(r"ckpt-(\d{8})$")


class Files(Protocol):
    """Small files in folders: the shards', or this machine's."""

    def list_folder(self, folder: str) -> list[str]:
        """Lists the names in a folder; none if it is not there."""

    def read_file(self, folder: str, name: str) -> bytes:
        """Reads a small file."""

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file, in one step."""

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files, and the folder if it is empty then."""


def next_folder(files: Files, path: str) -> str:
    """Returns a folder for a checkpoint that comes after all in `path`."""
    numbers = [
        int(match[1]) for match in map(_NAME.match, files.list_folder(path)) if match
    ]
    return f"{path}/ckpt-{max(numbers, default=0) + 1:08d}"


def complete(files: Files, path: str) -> list[str]:
    """Returns the folders of the checkpoints in `path`, the oldest first.

    Those that have a manifest: others are being made, or were never finished.
    """
    names = [name for name in files.list_folder(path) if _NAME.match(name)]
    folders = [f"{path}/{name}" for name in sorted(names)]
    return [folder for folder in folders if is_complete(files, folder)]


def is_complete(files: Files, folder: str) -> bool:
    """Whether `folder` is a checkpoint."""
    return manifest_lib.FILE_NAME in files.list_folder(folder)


def find(files: Files, path: str) -> str:
    """Returns `path` if it is a checkpoint, else the newest one in it.

    Raises:
        NotFoundError: if there is none.
    """
    if is_complete(files, path):
        return path
    found = complete(files, path)
    if not found:
        raise errors.NotFoundError(
            f"there is no checkpoint at {path!r}, nor one in it. Name the folder that "
            "was given to `ptf.checkpoint.save`, or a checkpoint in it."
        )
    return found[-1]


def read_manifest(files: Files, folder: str) -> manifest_lib.Manifest:
    """Reads the manifest of a checkpoint."""
    text = files.read_file(folder, manifest_lib.FILE_NAME)
    return manifest_lib.Manifest.from_bytes(text, folder)


def remove(files: Files, folder: str) -> None:
    """Removes a checkpoint: its manifest first, so that no part of one is left."""
    names = files.list_folder(folder)
    if manifest_lib.FILE_NAME in names:
        files.remove_files(folder, [manifest_lib.FILE_NAME])
    files.remove_files(folder, names)
