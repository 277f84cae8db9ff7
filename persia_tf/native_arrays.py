"""NumPy arrays as arguments of the native core, and what it points to as arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def ids(values: np.ndarray) -> tuple[Any, int]:
    """Gives a pointer to ids, contiguous int64, and their number."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), len(values)


def floats(values: np.ndarray) -> Any:
    """Gives a pointer to numbers, contiguous float32."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def copied(pointer: Any, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Copies what a pointer points to, so that the core may free it."""
    if 0 in shape:
        return np.empty(shape, dtype)  # The pointer may be null.
    return np.ctypeslib.as_array(pointer, shape).copy()
