"""The hash splitmix64 (Steele, Lea and Flood, OOPSLA 2014), by stock TensorFlow ops.

An exported graph that uses these ops computes the same hashes as the native core
(`cc/base/hash.h`) without the core's library. The ops work on unsigned 64-bit integers,
for which all builds of TensorFlow have the same kernels.
"""

from __future__ import annotations

import tensorflow as tf

GOLDEN = 0x9E3779B97F4A7C15
MASK_64 = (1 << 64) - 1

_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
_SHIFTS = (30, 27, 31)


def unsigned(integers: tf.Tensor) -> tf.Tensor:
    """Casts `integers` to int64, and reinterprets their bits as uint64."""
    return tf.bitcast(tf.cast(integers, tf.int64), tf.uint64)


def signed(integers: tf.Tensor) -> tf.Tensor:
    """Reinterprets the bits of a uint64 tensor as int64."""
    return tf.bitcast(integers, tf.int64)


def constant(value: int) -> tf.Tensor:
    """Returns `value` as a scalar uint64 tensor."""
    return tf.constant(value, tf.uint64)


def mix(x: tf.Tensor) -> tf.Tensor:
    """Returns the splitmix64 hash of each element of a uint64 tensor."""
    x = x + constant(GOLDEN)
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = _xor_shifted(x, shift) * constant(multiplier)
    return _xor_shifted(x, _SHIFTS[-1])


def mix_number(x: int) -> int:
    """Returns the splitmix64 hash of the low 64 bits of a Python integer."""
    x = (x + GOLDEN) & MASK_64
    for shift, multiplier in zip(_SHIFTS, _MULTIPLIERS):
        x = (x ^ (x >> shift)) * multiplier & MASK_64
    return x ^ (x >> _SHIFTS[-1])


def _xor_shifted(x: tf.Tensor, shift: int) -> tf.Tensor:
    return tf.bitwise.bitwise_xor(x, tf.bitwise.right_shift(x, constant(shift)))
