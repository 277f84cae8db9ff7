"""splitmix64 (Steele, Lea and Flood, OOPSLA 2014), by stock TensorFlow ops.

On unsigned 64-bit integers, of which every TensorFlow has the same kernels: so an
exported graph computes what the core does (`cc/base/hash.h`), and needs no library.
"""

from __future__ import annotations

import tensorflow as tf

GOLDEN = 0x9E3779B97F4A7C15
MASK_64 = (1 << 64) - 1

_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SHIFTS = (30, 27, 31)


def unsigned(integers: tf.Tensor) -> tf.Tensor:
    """Returns int64 as the uint64 of the same bits."""
    return tf.bitcast(tf.cast(integers, tf.int64), tf.uint64)


def signed(integers: tf.Tensor) -> tf.Tensor:
    """Returns uint64 as the int64 of the same bits."""
    return tf.bitcast(integers, tf.int64)


def constant(value: int) -> tf.Tensor:
    """Returns a uint64 scalar."""
    return tf.constant(value, tf.uint64)


def mix(x: tf.Tensor) -> tf.Tensor:
    """Returns the hash of uint64, any shape."""
    x = x + constant(GOLDEN)
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = _xor_shifted(x, shift) * constant(multiplier)
    return _xor_shifted(x, _SHIFTS[-1])


def mix_number(x: int) -> int:
    """Returns the hash of a Python integer, of which 64 bits count."""
    x = (x + GOLDEN) & MASK_64
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = (x ^ (x >> shift)) * multiplier & MASK_64
    return x ^ (x >> _SHIFTS[-1])


def _xor_shifted(x: tf.Tensor, shift: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, constant(shift)))
