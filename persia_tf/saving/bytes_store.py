"""A store of arrays, as Keras's, in the bytes of one string."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np


class BytesStore:
    """Takes arrays by name, and holds them as an `.npz` file does.

    Each array is written when it is set, so that none is held twice.
    """

    def __init__(self) -> None:
        self._file = io.BytesIO()
        self._archive = zipfile.ZipFile(self._file, "w")

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        with self._archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)

    def to_bytes(self) -> bytes:
        """Returns all of it, after which no more can be set."""
        self._archive.close()
        return self._file.getvalue()


def read_bytes(value: bytes) -> Any:
    """Returns what `BytesStore.to_bytes` gave as a mapping that reads lazily."""
    return np.load(io.BytesIO(value), allow_pickle=False)
