"""Conversions between NumPy arrays and pointers of the native core."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


def ids(values: np.ndarray) -> tuple[Any, int]:
    """Returns a pointer to ids, which must be contiguous int64, and their number."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)), len(values)


def floats(values: np.ndarray) -> Any:
    """Returns a pointer to numbers, which must be contiguous float32."""
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def copied(pointer: Any, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    """Copies the array that a pointer points to, so that the core may free it."""
    if 0 in shape:
        return np.empty(shape, dtype)  # The pointer may be null.
    return np.ctypeslib.as_array(pointer, shape).copy()
