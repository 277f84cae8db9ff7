"""Files of checkpoints that this program accesses itself, not through the shards."""

from __future__ import annotations

from collections.abc import Sequence

from persia_tf import files


class ReachedFiles:
    """Accesses small files on this machine or at URLs; implements `folders.Files`.

    Every method that fails raises a `PersiaError` that names the file. Before a URL is
    used, `files.reach_urls` must be called.
    """

    def list_folder(self, folder: str) -> list[str]:
        """Returns the names in a folder; an empty list if the folder is missing."""
        return files.list_folder(folder)

    def read_file(self, folder: str, name: str) -> bytes:
        """Returns the contents of a small file."""
        return files.read_file(f"{folder}/{name}")

    def write_file(self, folder: str, name: str, contents: bytes) -> None:
        """Writes a small file atomically."""
        files.write_file(f"{folder}/{name}", contents)

    def remove_files(self, folder: str, names: Sequence[str]) -> None:
        """Removes files from a folder, and leaves the folder itself."""
        for name in names:
            files.remove_file(f"{folder}/{name}")
