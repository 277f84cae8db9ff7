"""Rows in a graph, as they are held there: as floats, or as int8 with a scale a row."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

ROW_DTYPES = ("float32", "float16", "int8")

_MOST_INT8 = 127


class FrozenRows(tf.Module):
    """Rows in variables of TensorFlow, filled from the first to the last.

    Args:
        count: How many rows there will be, about; it grows if need be.
        dim: Weights a row.
        dtype: One of `ROW_DTYPES`. With `"int8"`, a row `w` is held as
            `round(w / scale)`, with `scale = max(|w|) / 127`: each weight is off by
            half a scale at most.
    """

    def __init__(self, count: int, dim: int, dtype: str) -> None:
        super().__init__()
        self._dtype = dtype
        self._filled = 0
        self._weights = _variable((count, dim), tf.as_dtype(dtype))
        self._scales = _variable((count,), tf.float32) if dtype == "int8" else None

    @property
    def filled(self) -> int:
        """How many rows there are."""
        return self._filled

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        of_weights = self._weights.shape[1] * self._weights.dtype.size
        return of_weights + (4 if self._scales is not None else 0)

    def append(self, rows: np.ndarray) -> None:
        """Adds rows: float32, `(n, dim)`."""
        end = self._filled + len(rows)
        if end > self._weights.shape[0]:
            self._grow(max(end, self._weights.shape[0] * 9 // 8))
        place = slice(self._filled, end)
        if self._scales is None:
            self._weights[place].assign(rows.astype(self._dtype))
        else:
            scales = np.abs(rows).max(axis=1, initial=0) / _MOST_INT8
            divisors = np.where(scales > 0, scales, 1)[:, np.newaxis]
            self._weights[place].assign(np.rint(rows / divisors).astype(np.int8))
            self._scales[place].assign(scales)
        self._filled = end

    def gather(self, places: tf.Tensor) -> tf.Tensor:
        """Returns rows: float32, `places.shape + (dim,)`."""
        rows = tf.cast(tf.gather(self._weights, places), tf.float32)
        if self._scales is None:
            return rows
        return rows * tf.gather(self._scales, places)[..., tf.newaxis]

    def _grow(self, count: int) -> None:
        self._weights = _longer(self._weights, count)
        if self._scales is not None:
            self._scales = _longer(self._scales, count)


def _variable(shape: tuple[int, ...], dtype: tf.DType) -> tf.Variable:
    return tf.Variable(tf.zeros(shape, dtype), trainable=False)


def _longer(variable: tf.Variable, count: int) -> tf.Variable:
    longer = _variable((count, *variable.shape[1:]), variable.dtype)
    longer[: variable.shape[0]].assign(variable)
    return longer
