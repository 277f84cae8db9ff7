"""Where checkpoints are: numbered folders beside each other."""

from __future__ import annotations

import re

from persia_tf import errors
from persia_tf.checkpoint import manifest as manifest_lib
from persia_tf.checkpoint.shards import Shards

_NAME = re.compile(r"ckpt-(\d{8})$")


def next_folder(shards: Shards, path: str) -> str:
    """Returns a folder for a checkpoint that comes after all in `path`."""
    numbers = [
        int(match[1]) for match in map(_NAME.match, shards.list_folder(path)) if match
    ]
    return f"{path}/ckpt-{max(numbers, default=0) + 1:08d}"


def complete(shards: Shards, path: str) -> list[str]:
    """Returns the folders of the checkpoints in `path`, the oldest first.

    Those that have a manifest: others are being made, or were never finished.
    """
    names = [name for name in shards.list_folder(path) if _NAME.match(name)]
    folders = [f"{path}/{name}" for name in sorted(names)]
    return [folder for folder in folders if is_complete(shards, folder)]


def is_complete(shards: Shards, folder: str) -> bool:
    """Whether `folder` is a checkpoint."""
    return manifest_lib.FILE_NAME in shards.list_folder(folder)


def find(shards: Shards, path: str) -> str:
    """Returns `path` if it is a checkpoint, else the newest one in it.

    Raises:
        NotFoundError: if there is none.
    """
    if is_complete(shards, path):
        return path
    found = complete(shards, path)
    if not found:
        raise errors.NotFoundError(
            f"there is no checkpoint at {path!r}, nor one in it. Name the folder that "
            "was given to `ptf.checkpoint.save`, or a checkpoint in it."
        )
    return found[-1]


def read_manifest(shards: Shards, folder: str) -> manifest_lib.Manifest:
    """Reads the manifest of a checkpoint."""
    text = shards.read_file(folder, manifest_lib.FILE_NAME)
    return manifest_lib.Manifest.from_bytes(text, folder)


def remove(shards: Shards, folder: str) -> None:
    """Removes a checkpoint: its manifest first, so that no part of one is left."""
    names = shards.list_folder(folder)
    if manifest_lib.FILE_NAME in names:
        shards.remove_files(folder, [manifest_lib.FILE_NAME])
    shards.remove_files(folder, names)


def keep_newest(shards: Shards, path: str, count: int) -> None:
    """Removes all but the newest checkpoints in `path`."""
    for folder in complete(shards, path)[:-count]:
        remove(shards, folder)
