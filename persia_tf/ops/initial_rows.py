"""The initial values of rows, with stock TensorFlow ops."""

from __future__ import annotations

import math
from collections.abc import Mapping

import tensorflow as tf

from persia_tf.base import splitmix

# The constants of FNV-1a, the hash function that the core applies to table names.
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


class InitialRows:
    """The initial values of a table's rows.

    They equal the values that the core computes (`cc/store/initializer.cc`,
    `random.h`) up to rounding in the last bits. The seed, the table and the id
    determine a random stream, from which a row's values are computed.

    Args:
        name: The initializer's name in the core.
        parameters: The initializer's parameters.
        seed: The initializer's seed, from 0 to 2**64 - 1.
        table: The table's full name.
        dim: Weights per row.
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, float],
        seed: int,
        table: str,
        dim: int,
    ) -> None:
        self._name = name
        self._parameters = {key: float(value) for key, value in parameters.items()}
        self._table_seed = splitmix.mix_number(
            _hash_of_name(table) + splitmix.mix_number(seed)
        )
        self._dim = dim

    def __call__(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the initial rows of ids.

        Args:
            ids: int64, `(n,)`.

        Returns:
            float32, `(n, dim)`.
        """
        constants = {"zeros": 0.0, "ones": 1.0}
        if self._name in ("zeros", "ones", "constant"):
            value = constants.get(self._name, self._parameters.get("value", 0.0))
            return tf.fill(tf.stack([tf.size(ids), self._dim]), value)
        if self._name == "normal":
            numbers = self._scaled(self._normals(ids, self._dim)[:, : self._dim])
        elif self._name == "truncated_normal":
            numbers = self._scaled(self._truncated_normals(ids))
        else:
            numbers = self._between(self._uniforms(ids, self._dim))
        return tf.cast(numbers, tf.float32)

    def _uniforms(self, ids: tf.Tensor, count: int) -> tf.Tensor:
        """Returns each id's first `count` random numbers: float64, in [0, 1)."""
        hashes = splitmix.mix(splitmix.unsigned(ids))
        seeded = tf.bitwise.bitwise_xor(hashes, splitmix.constant(self._table_seed))
        places = splitmix.unsigned(tf.range(count, dtype=tf.int64))
        steps = places * splitmix.constant(splitmix.GOLDEN)
        bits = splitmix.mix(splitmix.mix(seeded)[:, tf.newaxis] + steps)
        bits = splitmix.signed(tf.bitwise.right_shift(bits, splitmix.constant(11)))
        return tf.cast(bits, tf.float64) * 2.0**-53

    def _between(self, uniforms: tf.Tensor) -> tf.Tensor:
        if self._name == "glorot_uniform":
            high = math.sqrt(6 / (1 + self._dim))
            low = -high
        else:
            low, high = self._parameters["minval"], self._parameters["maxval"]
        return low + (high - low) * uniforms

    def _normals(self, ids: tf.Tensor, count: int) -> tf.Tensor:
        """Returns `count` standard normals per id, or one more if `count` is odd.

        Box and Muller's method computes a pair of normals from two uniform numbers.
        """
        pairs = -(-count // 2)
        uniforms = tf.reshape(self._uniforms(ids, 2 * pairs), [-1, pairs, 2])
        radii = tf.sqrt(-2 * tf.math.log(1 - uniforms[..., 0]))
        angles = 2 * math.pi * uniforms[..., 1]
        both = tf.stack([radii * tf.cos(angles), radii * tf.sin(angles)], axis=-1)
        return tf.reshape(both, [-1, 2 * pairs])

    def _truncated_normals(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns each id's first `dim` normals within two standard deviations."""
        # One normal in 22 is outside, so dim / 4 + 64 more normals suffice in practice.
        normals = self._normals(ids, self._dim + self._dim // 4 + 64)
        count = normals.shape[1]
        places = tf.range(count)
        order = tf.where(tf.abs(normals) > 2, places + count, places)
        first = tf.math.top_k(-order, k=self._dim).indices
        return tf.gather(normals, first, batch_dims=1)

    def _scaled(self, normals: tf.Tensor) -> tf.Tensor:
        return self._parameters["mean"] + self._parameters["stddev"] * normals


def _hash_of_name(name: str) -> int:
    value = _FNV_OFFSET
    for byte in name.encode():
        value = (value ^ byte) * _FNV_PRIME & splitmix.MASK_64
    return splitmix.mix_number(value)
