"""splitmix64 (Steele, Lea and Flood, OOPSLA 2014), with stock TensorFlow ops.

The ops work on unsigned 64-bit integers, for which every TensorFlow has the same
kernels. So an exported graph computes the same hashes as the core (`cc/base/hash.h`)
without its library.
"""

from __future__ import annotations

import tensorflow as tf

GOLDEN = 0x9E3779B97F4A7C15
MASK_64 = (1 << 64) - 1

_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SHIFTS = (30, 27, 31)


def unsigned(integers: tf.Tensor) -> tf.Tensor:
    """Returns int64 as uint64 with the same bits."""
    return tf.bitcast(tf.cast(integers, tf.int64), tf.uint64)


def signed(integers: tf.Tensor) -> tf.Tensor:
    """Returns uint64 as int64 with the same bits."""
    return tf.bitcast(integers, tf.int64)


def constant(value: int) -> tf.Tensor:
    """Returns a uint64 scalar."""
    return tf.constant(value, tf.uint64)


def mix(x: tf.Tensor) -> tf.Tensor:
    """Returns the hashes of a uint64 tensor of any shape."""
    x = x + constant(GOLDEN)
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = _xor_shifted(x, shift) * constant(multiplier)
    return _xor_shifted(x, _SHIFTS[-1])


def mix_number(x: int) -> int:
    """Returns the hash of the low 64 bits of a Python integer."""
    x = (x + GOLDEN) & MASK_64
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = (x ^ (x >> shift)) * multiplier & MASK_64
    return x ^ (x >> _SHIFTS[-1])


def _xor_shifted(x: tf.Tensor, shift: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, constant(shift)))
