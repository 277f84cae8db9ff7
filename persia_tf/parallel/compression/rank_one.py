"""Sends a matrix as the product of a column and a row that is closest to it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from persia_tf.parallel.compression import formats

# Of the numbers of the matrix, a product must have less than this share.
_MOST_SHARE = 1 / 32
_SEED = 1


class RankOne:
    """The format of such payloads: the column, then the row.

    The product comes from two steps of a power iteration from a fixed row of random
    numbers, so that equal matrices have equal payloads.

    Args:
        numbers: The format of the numbers.
        rows: The size of a column.
        columns: The size of a row.
    """

    def __init__(self, numbers: formats.Numbers, rows: int, columns: int) -> None:
        self._numbers = numbers
        self._rows = rows
        self._columns = columns
        generator = np.random.default_rng(_SEED)
        self._start = generator.standard_normal((columns, 1), np.float32)

    @property
    def words(self) -> int:
        """How many words a payload takes."""
        return self._numbers.words(self._rows) + self._numbers.words(self._columns)

    def encode(self, x: tf.Tensor) -> tf.Tensor:
        """Encodes float32, `(any, rows * columns)`, as int32, `(any, words)`."""
        matrix = tf.reshape(x, [-1, self._rows, self._columns])
        column = _of_length_one(tf.matmul(matrix, self._start))
        row = _of_length_one(tf.matmul(matrix, column, transpose_a=True))
        column = _of_length_one(tf.matmul(matrix, row))
        row = tf.matmul(matrix, column, transpose_a=True)
        payloads = [self._numbers.encode(tf.squeeze(each, 2)) for each in (column, row)]
        return tf.concat(payloads, axis=1)

    def decode(self, payload: tf.Tensor) -> tf.Tensor:
        """Decodes int32, `(any, words)`, to float32, `(any, rows * columns)`."""
        sizes = [self._numbers.words(self._rows), self._numbers.words(self._columns)]
        column, row = tf.split(payload, sizes, axis=1)
        column = self._numbers.decode(column, self._rows)
        row = self._numbers.decode(row, self._columns)
        product = column[:, :, tf.newaxis] * row[:, tf.newaxis, :]
        return tf.reshape(product, [-1, self._rows * self._columns])


def rank_one(numbers: formats.Numbers, count: int, columns: int) -> RankOne | None:
    """Returns the format for pieces of `count` numbers, or None if it saves too little.

    Args:
        numbers: The format of the numbers.
        count: How many numbers a piece has.
        columns: The size of the last axis of a piece.
    """
    rows = count // columns
    is_small = rows + columns <= count * _MOST_SHARE
    return RankOne(numbers, rows, columns) if is_small else None


def _of_length_one(column: tf.Tensor) -> tf.Tensor:
    # First to a greatest magnitude of 1: the squares of small numbers are zeros.
    greatest = tf.reduce_max(tf.abs(column), axis=1, keepdims=True)
    column = tf.math.divide_no_nan(column, greatest)
    length = tf.norm(column, axis=1, keepdims=True)
    return tf.math.divide_no_nan(column, length)
