"""Conversions between NumPy arrays and pointers of the native core."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def ids(values: np.ndarray) -> tuple[Any, int]:
    """Returns a pointer to contiguous int64 ids, and the number of ids."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), len(values)


def floats(values: np.ndarray) -> Any:
    """Returns a pointer to contiguous float32 numbers."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def copied(pointer: Any, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Copies the array at a pointer, so that the core may free the original."""
    if 0 in shape:
        return np.empty(shape, dtype)  # The pointer to an empty array may be null.
    return np.ctypeslib.as_array(pointer, shape).copy()
