"""Rows in a variable of a graph: as floats, or as int8 with a scale per row."""

from __future__ import annotations

import tensorflow as tf

ROW_DTYPES = ("float32", "float16", "int8")

# Multiply by this: a division by a constant rounds differently in a graph than eagerly.
_INT8_STEP = 1 / 127
_MOST_FLOAT16 = float(tf.float16.max)


class FrozenRows(tf.Module):
    """Rows in a `tf.Variable`, indexed by their places: 0, 1, ...

    A gather never sees a torn row: all of a row is in one variable, whose lock a gather
    holds shared and a write holds exclusively. Only one thread at a time may write or
    grow; any thread may gather meanwhile.

    Args:
        count: The initial number of rows, which are zeros.
        dim: Weights per row.
        dtype: One of `ROW_DTYPES`. `"float16"` clips weights to its range. With
            `"int8"`, a row `w` is stored as `round(w / scale)` with
            `scale = max(|w|) / 127`, followed by the scale as float32: each weight is
            off by at most half a scale.
    """

    def __init__(self, count: int, dim: int, dtype: str) -> None:
        super().__init__()
        self._dim = dim
        self._is_int8 = dtype == "int8"
        width = dim + tf.float32.size if self._is_int8 else dim
        # On other devices, some of the ops below have no kernels for int8.
        with tf.device("CPU:0"):
            self._rows = tf.Variable(
                tf.zeros((count, width), tf.as_dtype(dtype)),
                shape=(None, width),
                trainable=False,
            )

    @property
    def row_bytes(self) -> int:
        """Bytes per row."""
        return self._rows.shape[1] * self._rows.dtype.size

    def count(self) -> tf.Tensor:
        """Returns the number of places: int64, a scalar."""
        return tf.shape(self._rows, tf.int64)[0]

    def gather(self, places: tf.Tensor) -> tf.Tensor:
        """Returns rows: float32, `places.shape + (dim,)`."""
        rows = tf.gather(self._rows, places)
        if not self._is_int8:
            return tf.cast(rows, tf.float32)
        weights, scales = rows[..., : self._dim], rows[..., self._dim :]
        scales = tf.bitcast(scales, tf.float32)[..., tf.newaxis]
        return tf.cast(weights, tf.float32) * scales

    def write(self, places: tf.Tensor, rows: tf.Tensor) -> None:
        """Sets rows.

        Args:
            places: int64, `(n,)`, each once.
            rows: float32, `(n, dim)`.
        """
        # `scatter_update` holds the lock shared, as gathers do: they could see torn
        # rows.
        tf.raw_ops.ResourceScatterNdUpdate(
            ref=self._rows.handle,
            indices=places[:, tf.newaxis],
            updates=self._encode(rows),
            use_locking=True,
        )

    def grow(self, count: tf.Tensor) -> None:
        """Grows to at least `count` places, int64.

        Grows by at least an eighth, or not at all if there are enough.
        """
        places = self.count()

        def longer() -> tf.Tensor:
            more = tf.maximum(count - places, places // 8)
            zeros = tf.zeros(tf.stack([more, self._rows.shape[1]]), self._rows.dtype)
            rows = tf.concat([self._rows, zeros], axis=0)
            # Otherwise the assignment copies all rows once more, while gathers wait.
            with tf.control_dependencies([rows]):
                moves = tf.raw_ops.DisableCopyOnRead(resource=self._rows.handle)
            with tf.control_dependencies([moves] if moves is not None else []):
                self._rows.assign(rows)
            return more

        tf.cond(count > places, longer, lambda: tf.zeros((), tf.int64))

    def _encode(self, rows: tf.Tensor) -> tf.Tensor:
        if self._rows.dtype == tf.float16:
            rows = tf.clip_by_value(rows, -_MOST_FLOAT16, _MOST_FLOAT16)
        if not self._is_int8:
            return tf.cast(rows, self._rows.dtype)
        scales = tf.reduce_max(tf.abs(rows), axis=1) * _INT8_STEP
        divisors = tf.where(scales > 0, scales, tf.ones_like(scales))[:, tf.newaxis]
        weights = tf.cast(tf.round(rows / divisors), tf.int8)
        return tf.concat([weights, tf.bitcast(scales, tf.int8)], axis=1)
