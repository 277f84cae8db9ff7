"""A store of arrays, as Keras's, in the bytes of one string, or in a file."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

import numpy as np


class BytesStore:
    """Takes arrays by name, and holds them as an `.npz` file does.

    Each array is written when it is set, so that none is held twice.

    Args:
        file: Open for writing bytes; None: it is held in memory.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file if file is not None else io.BytesIO()
        self._archive = zipfile.ZipFile(self._file, "w")

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)

    def close(self) -> None:
        """Ends it: no more can be set."""
        self._archive.close()

    def to_bytes(self) -> bytes:
        """Ends it, and returns all of it, if it was held in memory."""
        self.close()
        return self._file.getvalue()


def read_bytes(value: bytes) -> Any:
    """Returns what `BytesStore.to_bytes` gave as a mapping that reads lazily."""
    return np.load(io.BytesIO(value), allow_pickle=False)
