"""Rows in a graph, as they are held there: as floats, or as int8 with a scale a row."""

from __future__ import annotations

import tensorflow as tf

ROW_DTYPES = ("float32", "float16", "int8")

# A division by a constant gives other bits in a graph than out of it.
_INT8_STEP = 1 / 127
_MOST_FLOAT16 = float(tf.float16.max)


class FrozenRows(tf.Module):
    """Rows in a variable of TensorFlow, by their places: 0, 1, ...

    A row is gathered as it was before or after a write, never in between: a row is
    whole in one variable, whose lock a gather shares and a write has for itself. One
    thread writes and grows at a time; any may gather meanwhile.

    Args:
        count: How many rows there are at first, which are zeros.
        dim: Weights a row.
        dtype: One of `ROW_DTYPES`. `"float16"` takes what is too large for it as its
            largest number. With `"int8"`, a row `w` is held as `round(w / scale)`,
            with `scale = max(|w|) / 127`, and the scale as float32 behind it: each
            weight is off by half a scale at most.
    """

    def __init__(self, count: int, dim: int, dtype: str) -> None:
        super().__init__()
        self._dim = dim
        self._is_int8 = dtype == "int8"
        width = dim + tf.float32.size if self._is_int8 else dim
        # There are no kernels for all that is done to int8 variables elsewhere.
        with tf.device("CPU:0"):
            self._rows = tf.Variable(
                tf.zeros((count, width), tf.as_dtype(dtype)),
                shape=(None, width),
                trainable=False,
            )

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self._rows.shape[1] * self._rows.dtype.size

    def count(self) -> tf.Tensor:
        """Returns how many places there are: int64, a scalar."""
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
        # A scatter_update of a variable shares its lock with gathers, and tears rows.
        tf.raw_ops.ResourceScatterNdUpdate(
            ref=self._rows.handle,
            indices=places[:, tf.newaxis],
            updates=self._encode(rows),
            use_locking=True,
        )

    def grow(self, count: tf.Tensor) -> None:
        """Makes it so many places at least, int64: by an eighth, or not at all."""
        places = self.count()

        def longer() -> tf.Tensor:
            more = tf.maximum(count - places, places // 8)
            zeros = tf.zeros(tf.stack([more, self._rows.shape[1]]), self._rows.dtype)
            rows = tf.concat([self._rows, zeros], axis=0)
            # Else the assignment copies them once more, and gathers wait for that.
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
