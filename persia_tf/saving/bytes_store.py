"""Stores arrays by name, as Keras's stores do, in memory or in a file."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

import numpy as np


class BytesStore:
    """Stores arrays by name, in the format of an `.npz` file.

    An array is written as soon as it is assigned, so the store does not retain the
    array itself.

    Args:
        file: A file that is open for writing bytes. If None, the store writes to
            memory.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file if file is not None else io.BytesIO()
        self._archive = zipfile.ZipFile(self._file, "w")

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)

    def close(self) -> None:
        """Completes the store. After that, no further array can be added."""
        self._archive.close()

    def to_bytes(self) -> bytes:
        """Completes a store that writes to memory, and returns its contents."""
        self.close()
        return self._file.getvalue()


def read_bytes(value: bytes) -> Any:
    """Returns a mapping that lazily reads arrays from `BytesStore.to_bytes`' result."""
    return np.load(io.BytesIO(value), allow_pickle=False)
