"""A store of arrays, like Keras's, that writes to memory or to a file."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

import numpy as np


class BytesStore:
    """Stores arrays by name, in the format of an `.npz` file.

    Each array is written as soon as it is set, so that no second copy is held.

    Args:
        file: A file that is open for writing bytes. None: the store is in memory.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file if file is not None else io.BytesIO()
        self._archive = zipfile.ZipFile(self._file, "w")

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)

    def close(self) -> None:
        """Completes the store: no further array can be set."""
        self._archive.close()

    def to_bytes(self) -> bytes:
        """Completes a store in memory and returns its contents."""
        self.close()
        return self._file.getvalue()


def read_bytes(value: bytes) -> Any:
    """Returns a mapping that lazily reads arrays from `BytesStore.to_bytes`' result."""
    return np.load(io.BytesIO(value), allow_pickle=False)
