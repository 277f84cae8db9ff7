"""Packs numbers of 8, 16 and 32 bits into 32-bit words.

TensorFlow's collectives on CPUs send int32 and floats, but no 8-bit integers.
"""

from __future__ import annotations

import tensorflow as tf

BYTES = 4


def words_for(count: int, dtype: tf.DType) -> int:
    """Returns how many words `count` numbers take."""
    return -(-count * dtype.size // BYTES)


def pack(x: tf.Tensor) -> tf.Tensor:
    """Packs each row into words, the last of which is filled up with zeros.

    Args:
        x: `(rows, count)`, with the count known.

    Returns:
        int32, `(rows, words_for(count, x.dtype))`.
    """
    in_a_word = BYTES // x.dtype.size
    if in_a_word == 1:
        return tf.bitcast(x, tf.int32)
    missing = -x.shape[1] % in_a_word
    if missing:
        x = tf.pad(x, [[0, 0], [0, missing]])
    return tf.bitcast(tf.reshape(x, [-1, x.shape[1] // in_a_word, in_a_word]), tf.int32)


def unpack(words: tf.Tensor, count: int, dtype: tf.DType) -> tf.Tensor:
    """Returns the numbers that `pack` packed.

    Args:
        words: int32, `(rows, words_for(count, dtype))`.
        count: How many numbers a row has.
        dtype: Their dtype.

    Returns:
        `(rows, count)`.
    """
    x = tf.bitcast(words, dtype)
    if dtype.size == BYTES:
        return x
    filled = words.shape[1] * BYTES // dtype.size
    x = tf.reshape(x, [-1, filled])
    return x if filled == count else x[:, :count]
