"""Stores rows in a TensorFlow variable: as floats, or as int8 with a scale per row."""

from __future__ import annotations

import tensorflow as tf

ROW_DTYPES = ("float32", "float16", "int8")

# A row's largest weight is multiplied by this constant, not divided by 127: a division
# by a constant rounds differently in a graph than in eager execution.
_INT8_STEP = 1 / 127
_MOST_FLOAT16 = float(tf.float16.max)


class ServedRows(tf.Module):
    """Rows in a `tf.Variable`, indexed by their places: 0, 1, ...

    A gather never sees a partly written row: all rows are in one variable, whose lock
    `gather` takes in shared mode, and `write` in exclusive mode. Only one thread at a
    time may call `write` or `grow`; any thread may call `gather` meanwhile.

    Args:
        count: The initial number of rows, which are zeros.
        dim: The number of weights per row.
        dtype: One of `ROW_DTYPES`. `"float16"` clips weights to float16's range. With
            `"int8"`, a row `w` is stored as `round(w / scale)` with
            `scale = max(|w|) / 127`, followed by the scale as float32: each weight is
            off by at most half a scale. `cc/store/int8.h` specifies this format.
    """

    def __init__(self, count: int, dim: int, dtype: str) -> None:
        super().__init__()
        self._dim = dim
        self._is_int8 = dtype == "int8"
        width = dim + tf.float32.size if self._is_int8 else dim
        # The variable is on the CPU, since some ops of this class have no kernels for
        # int8 on other devices.
        with tf.device("CPU:0"):
            self._rows = tf.Variable(
                tf.zeros((count, width), tf.as_dtype(dtype)),
                shape=(None, width),
                trainable=False,
            )

    @property
    def row_bytes(self) -> int:
        """The number of bytes per row."""
        return self._rows.shape[1] * self._rows.dtype.size

    def count(self) -> tf.Tensor:
        """Returns the number of places: int64, a scalar."""
        return tf.shape(self._rows, tf.int64)[0]

    def gather(self, places: tf.Tensor) -> tf.Tensor:
        """Returns the rows at `places`: float32, `places.shape + (dim,)`."""
        rows = tf.gather(self._rows, places)
        if not self._is_int8:
            return tf.cast(rows, tf.float32)
        weights, scales = rows[..., : self._dim], rows[..., self._dim :]
        scales = tf.bitcast(scales, tf.float32)[..., tf.newaxis]
        return tf.cast(weights, tf.float32) * scales

    def write(self, places: tf.Tensor, rows: tf.Tensor) -> None:
        """Sets the rows at some places.

        Args:
            places: The places, each of which occurs once: int64, `(n,)`.
            rows: The new rows: float32, `(n, dim)`.
        """
        # `scatter_update` is not used: it takes the variable's lock in shared mode, as
        # gathers do, so that gathers could see partly written rows.
        tf.raw_ops.ResourceScatterNdUpdate(
            ref=self._rows.handle,
            indices=places[:, tf.newaxis],
            updates=self._encode(rows),
            use_locking=True,
        )

    def grow(self, count: tf.Tensor) -> None:
        """Grows the variable to at least `count` places, and by at least an eighth.

        Does nothing if there are enough places already. `count` is int64.
        """
        places = self.count()

        def longer() -> tf.Tensor:
            more = tf.maximum(count - places, places // 8)
            zeros = tf.zeros(tf.stack([more, self._rows.shape[1]]), self._rows.dtype)
            rows = tf.concat([self._rows, zeros], axis=0)
            # Without `DisableCopyOnRead`, the assignment would copy all rows once more,
            # while gathers wait.
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
