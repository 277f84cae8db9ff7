"""Files of checkpoints that this program accesses itself, not through the shards."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf import files


class ReachedFiles:
    """Small files on this machine or at URLs: a `persia_tf.checkpoint.folders.Files`.

    Every method that fails raises a `PersiaError` that names the file. For URLs,
    `files.reach_urls` must be called before.
    """

    def list_folder(self, folder: str) -> list[str]:
        """Lists the names in a folder; empty if there is no such folder."""
        return files.list_folder(folder)

    def read_file(self, folder: str, name: str) -> bytes:
        """Reads a small file."""
        return files.read_file(f"{folder}/{name}")

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file atomically."""
        files.write_file(f"{folder}/{name}", contents)

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files; the folder stays."""
        for name in names:
            files.remove_file(f"{folder}/{name}")
