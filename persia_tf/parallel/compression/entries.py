"""A payload of some of a tensor's numbers, with their places.

A row of a payload is: for each block of 65536 places, how many numbers are from it;
each number's place within its block, of 16 bits; and the numbers.
"""

from __future__ import annotations

import math

import tensorflow as tf

from persia_tf.parallel.compression import formats, words
from persia_tf.parallel.compression.encodings import Threshold

_BLOCK = 1 << 16

# Room beyond the share that is kept. The fuller a payload is on average, the more often
# there are too many numbers for it, and the threshold must be found anew.
_ROOM = 1.25


class Entries:
    """The format of such payloads.

    Places are int32, `(rows, room)`, in ascending order in each row, then -1 for room
    that is not used.

    Args:
        numbers: The format of the numbers.
        count: How many numbers a row of the tensor has.
        room: How many of them a row of a payload has room for: an even number.
    """

    def __init__(self, numbers: formats.Numbers, count: int, room: int) -> None:
        self.numbers = numbers
        self._count = count
        self.room = room
        self._blocks = -(-count // _BLOCK)
        self._place_words = words.words_for(room, tf.uint16)

    @property
    def words(self) -> int:
        """How many words a row with places takes."""
        return self._blocks + self._place_words + self.value_words

    @property
    def value_words(self) -> int:
        """How many words a row of numbers alone takes."""
        return self.numbers.words(self.room)

    def pick(self, x: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Returns the numbers of `(rows, count)` at the places; 0 for unused room."""
        picked = tf.gather(x, tf.maximum(places, 0), axis=1, batch_dims=1)
        return tf.where(places < 0, 0.0, picked)

    def encode(self, values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Returns a payload of numbers and their places."""
        return self.encode_places(places, self.encode_values(values))

    def encode_places(self, places: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """Adds the places to a payload of numbers."""
        offsets = words.pack(tf.cast(tf.maximum(places, 0) % _BLOCK, tf.uint16))
        return tf.concat([self._counts(places), offsets, values], axis=1)

    def encode_values(self, values: tf.Tensor) -> tf.Tensor:
        """Returns a payload of numbers whose places the receiver knows."""
        return self.numbers.encode(values)

    def decode(self, payload: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns the numbers of a payload, and their places."""
        sizes = [self._blocks, self._place_words, self.value_words]
        counts, offsets, values = tf.split(payload, sizes, axis=1)
        offsets = tf.cast(words.unpack(offsets, self.room, tf.uint16), tf.int32)
        block = tf.searchsorted(
            tf.cumsum(counts, axis=1),
            tf.broadcast_to(tf.range(self.room), tf.shape(offsets)),
            side="right",
        )
        places = tf.where(block < self._blocks, block * _BLOCK + offsets, -1)
        return self.decode_values(values), places

    def decode_values(self, payload: tf.Tensor) -> tf.Tensor:
        """Returns the numbers of a payload without places."""
        return self.numbers.decode(payload, self.room)

    def spread(self, values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Returns `(rows, count)` with the numbers at their places, zeros elsewhere."""
        rows = tf.shape(places)[0]
        place = tf.where(places < 0, -1, _first_of_rows(rows, self._count) + places)
        flat = _summed_by(place, values, rows * self._count)
        return tf.reshape(flat, [rows, self._count])

    def sum_rows(self, values: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
        """Returns `(count,)`: the sum of the rows of `spread`, in their order."""
        return _summed_by(places, values, self._count)

    def has(self, places: tf.Tensor) -> tf.Tensor:
        """Returns a bool for each number: `(rows, count)`, True at the places."""
        return self.spread(tf.ones_like(places), places) > 0

    def no_places(self, rows: int) -> tf.Tensor:
        """Returns the places of rows of which all room is unused."""
        return tf.fill([rows, self.room], -1)

    def _counts(self, places: tf.Tensor) -> tf.Tensor:
        rows = tf.shape(places)[0]
        block = _first_of_rows(rows, self._blocks) + places // _BLOCK
        block = tf.where(places < 0, -1, block)
        counts = _summed_by(block, tf.ones_like(places), rows * self._blocks)
        return tf.reshape(counts, [rows, self._blocks])


def of(encoding: Threshold, count: int) -> Entries:
    """Returns the format of the payloads for `count` numbers."""
    numbers = {"float32": formats.FLOAT32, "float16": formats.FLOAT16}[encoding.values]
    # Even, so that as many 16-bit numbers fill whole words.
    room = 2 * math.ceil(count * encoding.keep * _ROOM / 2)
    return Entries(numbers, count, room)


def _first_of_rows(rows: tf.Tensor, length: int) -> tf.Tensor:
    """Returns the place of each row's first element in the flat tensor, `(rows, 1)`."""
    return (tf.range(rows) * length)[:, tf.newaxis]


def _summed_by(
    place: tf.Tensor, values: tf.Tensor, count: tf.Tensor | int
) -> tf.Tensor:
    """Returns `(count,)`: the sum of the values of each place, but for negative places.

    On a CPU, TensorFlow adds the values of a place in their order, with any number of
    threads. `tf.scatter_nd` takes six times as long.
    """
    return tf.math.unsorted_segment_sum(values, place, count)
