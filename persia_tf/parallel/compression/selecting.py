"""Finds the numbers whose magnitude reaches a threshold, and the threshold."""

from __future__ import annotations

import math

import tensorflow as tf

from persia_tf.parallel.compression import states
from persia_tf.parallel.compression.encodings import Threshold
from persia_tf.parallel.compression.formats import TINY

# The threshold is also found anew if fewer than this part of the share reach it.
_FEW = 0.5


class Selector:
    """Selects the numbers of each row of a tensor that are to be sent.

    Each row has a threshold of its own.

    Args:
        encoding: The share that is kept, and how long a threshold is used.
        rows: The number of rows.
        count: How many numbers a row has.
        room: How many numbers of a row can be sent.
        name: The name of its variables.
    """

    def __init__(
        self, encoding: Threshold, rows: int, count: int, room: int, name: str
    ) -> None:
        self._every = encoding.every
        self._rows = rows
        self._count = count
        self._kept = max(1, round(count * encoding.keep))
        self._room = room
        self._tau = states.zeros([rows], tf.float32, f"{name}/tau")
        self._calls = states.zeros([], tf.int64, f"{name}/calls")

    @property
    def state(self) -> dict[str, tf.Variable]:
        """The variables, by name."""
        return {"tau": self._tau, "calls": self._calls}

    @tf.autograph.experimental.do_not_convert
    def select(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Selects numbers by the thresholds, and finds these anew if it is time.

        Args:
            x: float32, `(rows, count)`.

        Returns:
            int32, `(rows, room)`: the places in each row of the numbers to send, in
            ascending order, then -1 for the room that is left; and int64, `(found,)`:
            the places in the flat tensor of all numbers that reach the thresholds.
            They are more than the former only if there is no room for all.
        """
        flat = tf.cond(
            tf.equal(self._calls % self._every, 0),
            lambda: self._found_anew(x),
            lambda: self._found(x),
        )
        self._calls.assign_add(1)
        row_of = flat // self._count
        places = tf.RaggedTensor.from_value_rowids(
            tf.cast(flat - row_of * self._count, tf.int32),
            row_of,
            nrows=self._rows,
            validate=False,
        )
        return places.to_tensor(-1, shape=[self._rows, self._room]), flat

    def _found(self, x: tf.Tensor) -> tf.Tensor:
        flat = self._reaching(x, self._tau)
        found = tf.math.bincount(
            tf.cast(flat // self._count, tf.int32),
            minlength=self._rows,
            maxlength=self._rows,
        )
        # The smallest threshold that there is lets all numbers but zeros through: then
        # there are no more to be found.
        few = (found < math.ceil(_FEW * self._kept)) & (self._tau > TINY)
        stale = tf.reduce_any((found > self._room) | few)
        return tf.cond(stale, lambda: self._found_anew(x), lambda: flat)

    def _found_anew(self, x: tf.Tensor) -> tf.Tensor:
        finite = tf.math.is_finite(x)
        magnitude = tf.where(finite, tf.abs(x), float("inf"))
        # Unlike a sort or tf.math.top_k, this takes time in proportion to the size.
        largest = tf.raw_ops.NthElement(input=magnitude, n=self._kept - 1, reverse=True)
        tau = tf.maximum(largest, TINY)
        self._tau.assign(tau)
        return self._reaching(x, tau)

    def _reaching(self, x: tf.Tensor, tau: tf.Tensor) -> tf.Tensor:
        # In this form, the comparison is also true for a NaN.
        reaches = tf.logical_not(tf.abs(x) < tf.reshape(tau, [-1, 1]))
        return tf.squeeze(tf.where(tf.reshape(reaches, [-1])), 1)
