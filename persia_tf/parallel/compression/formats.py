"""Encodes all numbers of a tensor, in as many bits each."""

from __future__ import annotations

import abc

import tensorflow as tf

from persia_tf.parallel.compression import words
from persia_tf.parallel.compression.encodings import Encoding, Float16, Int8

# The smallest float32 that is not subnormal: CPUs may take smaller ones for zero.
TINY = 2.0**-126

_EXPONENT_BITS = 0x7F800000
# Numbers are scaled to at most 2**15, below float16's largest number, 65504.
_FLOAT16_TOP = 2.0**14

_BLOCK = 256
_MOST_INT8 = 127.0


class Numbers(abc.ABC):
    """A format of the numbers in each row of a tensor."""

    @abc.abstractmethod
    def words(self, count: int) -> int:
        """Returns how many words a row of `count` numbers takes."""

    @abc.abstractmethod
    def encode(self, x: tf.Tensor) -> tf.Tensor:
        """Encodes float32, `(rows, count)`, as int32, `(rows, words(count))`."""

    @abc.abstractmethod
    def decode(self, payload: tf.Tensor, count: int) -> tf.Tensor:
        """Decodes int32, `(rows, words(count))`, to float32, `(rows, count)`."""


class _Float32(Numbers):
    def words(self, count: int) -> int:
        return count

    def encode(self, x: tf.Tensor) -> tf.Tensor:
        return words.pack(x)

    def decode(self, payload: tf.Tensor, count: int) -> tf.Tensor:
        return words.unpack(payload, count, tf.float32)


class _Float16(Numbers):
    """float16 numbers, then their scale."""

    def words(self, count: int) -> int:
        return words.words_for(count, tf.float16) + 1

    def encode(self, x: tf.Tensor) -> tf.Tensor:
        scale = _power_of_two(tf.reduce_max(tf.abs(x), axis=1, keepdims=True))
        halves = tf.cast(x / scale, tf.float16)
        return tf.concat([words.pack(halves), words.pack(scale)], axis=1)

    def decode(self, payload: tf.Tensor, count: int) -> tf.Tensor:
        halves = words.unpack(payload[:, :-1], count, tf.float16)
        scale = words.unpack(payload[:, -1:], 1, tf.float32)
        return tf.cast(halves, tf.float32) * scale


class _Int8(Numbers):
    """The blocks' scales, then 8-bit integers."""

    def words(self, count: int) -> int:
        return _blocks(count) + words.words_for(count, tf.int8)

    def encode(self, x: tf.Tensor) -> tf.Tensor:
        count = x.shape[1]
        blocks = _in_blocks(x)
        largest = tf.reduce_max(tf.abs(blocks), axis=2, keepdims=True)
        # tf.maximum may drop a NaN, which must reach the receiver.
        scale = tf.where(largest < TINY * _MOST_INT8, TINY, largest / _MOST_INT8)
        scale = tf.where(tf.math.is_finite(scale), scale, float("nan"))
        integers = tf.cast(tf.round(blocks / scale), tf.int8)
        integers = tf.reshape(integers, [-1, _blocks(count) * _BLOCK])[:, :count]
        return tf.concat(
            [words.pack(tf.squeeze(scale, 2)), words.pack(integers)], axis=1
        )

    def decode(self, payload: tf.Tensor, count: int) -> tf.Tensor:
        blocks = _blocks(count)
        scale = words.unpack(payload[:, :blocks], blocks, tf.float32)
        integers = words.unpack(payload[:, blocks:], count, tf.int8)
        numbers = _in_blocks(tf.cast(integers, tf.float32)) * scale[:, :, tf.newaxis]
        return tf.reshape(numbers, [-1, blocks * _BLOCK])[:, :count]


def format_of(encoding: Encoding) -> Numbers:
    """Returns the format of an encoding that sends all numbers."""
    return {Float16: FLOAT16, Int8: INT8}[type(encoding)]


FLOAT32 = _Float32()
FLOAT16 = _Float16()
INT8 = _Int8()


def _power_of_two(largest: tf.Tensor) -> tf.Tensor:
    """Returns `Float16`'s scale; 1 if a number of the row is not finite."""
    bits = tf.bitwise.bitwise_and(tf.bitcast(largest, tf.int32), _EXPONENT_BITS)
    scale = tf.bitcast(bits, tf.float32) / _FLOAT16_TOP
    return tf.where(tf.math.is_finite(largest), tf.maximum(scale, TINY), 1.0)


def _blocks(count: int) -> int:
    return -(-count // _BLOCK)


def _in_blocks(x: tf.Tensor) -> tf.Tensor:
    """Returns `(rows, blocks, 256)`, filled up with zeros."""
    blocks = _blocks(x.shape[1])
    missing = blocks * _BLOCK - x.shape[1]
    if missing:
        x = tf.pad(x, [[0, 0], [0, missing]])
    return tf.reshape(x, [-1, blocks, _BLOCK])
