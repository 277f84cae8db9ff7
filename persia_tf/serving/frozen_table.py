"""A table's rows in a graph of stock TensorFlow ops."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf import splitmix
from persia_tf.ops.absent_rows import ZEROS, AbsentRows
from persia_tf.serving.frozen_rows import FrozenRows

# The place of ids without a row: its own row is never written and stays zero.
ABSENT = 0

_IDS = tf.TensorSpec((None,), tf.int64)
_COUNT = tf.TensorSpec((), tf.int64)


class FrozenTable(tf.Module):
    """Rows by id, which a program with only TensorFlow can look up and change.

    An id is linked to a place, and each place has a row. A SavedModel keeps the
    functions among the attributes, so that a program that loads it can update rows
    while it serves:

    ```python
    table = tf.saved_model.load(path).tables["user"]
    table.grow(place + 1)
    table.write([place], [row])
    table.link([id], [place])
    ```

    Only one thread at a time may change the table; lookups may run meanwhile. A lookup
    finds the place of an id first and reads its row afterwards. So a row must be
    written before its id is linked, and the place of an unlinked id must not be written
    again before the lookups that found it have ended.

    Places are found by a hash table rather than by a search in sorted ids: such a
    lookup takes a fifth longer than a gather at known places, where a search takes more
    than twice as long. TensorFlow's hash of an id is the id modulo a prime, so an
    attacker who chooses ids that are trained could make all of them share a bucket.
    Therefore the key is not the id but its product with a random odd number, modulo
    2^64, which is unique for each id.

    Args:
        places: The initial number of places, at least 1: place 0 is that of ids
            without a row.
        dim: Weights per row.
        row_dtype: How weights are stored: one of `frozen_rows.ROW_DTYPES`.

    Attributes:
        dim: Weights per row.
        find: Takes ids, int64 `(n,)`, and returns their places, int64 `(n,)`: 0 for an
            id without one.
        write: Takes places, int64 `(n,)`, each once and none of them 0, and sets their
            rows to rows, float32 `(n, dim)`, which it converts to the table's dtype.
        link: Takes ids, int64 `(n,)`, and places, int64 `(n,)`, and gives each id its
            place.
        unlink: Takes ids, int64 `(n,)`, and removes their places from them.
        grow: Takes a number of places, int64 `()`, and grows the table to at least
            that many. It copies all rows, while lookups wait; so it grows by at least
            an eighth.
        ids: Returns all ids that have a place, int64 `(n,)`.
        read: Takes ids, int64 `(n,)`, and returns their rows, float32 `(n, dim)`; zeros
            for an id without a row.
        size: Returns a dict of int64 `()`: `"ids"`, the number of ids that have a
            place, and `"places"`, the number of places, place 0 included.
    """

    def __init__(self, places: int, dim: int, row_dtype: str) -> None:
        super().__init__()
        self.dim = dim
        self._factor = secrets.randbits(64) | 1
        self._rows = FrozenRows(places, dim, row_dtype)
        self._places = tf.lookup.experimental.MutableHashTable(
            key_dtype=tf.int64, value_dtype=tf.int64, default_value=ABSENT
        )
        rows = tf.TensorSpec((None, dim), tf.float32)
        self.find = _function(self._find, _IDS)
        self.write = _function(self._rows.write, _IDS, rows)
        self.link = _function(self._link, _IDS, _IDS)
        self.unlink = _function(self._unlink, _IDS)
        self.grow = _function(self._rows.grow, _COUNT)
        self.ids = _function(self._ids)
        self.read = _function(lambda ids: self.lookup(ids), _IDS)
        self.size = _function(self._size)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self._places.size())

    @property
    def bytes(self) -> int:
        """The bytes of all ids and their rows."""
        return self.rows * (8 + self._rows.row_bytes)

    def lookup(self, ids: tf.Tensor, absent: AbsentRows = ZEROS) -> tf.Tensor:
        """Looks rows up.

        Args:
            ids: int64, any shape.
            absent: What ids without a row get. Defaults to zeros.

        Returns:
            float32, `ids.shape + (dim,)`.
        """
        places = self._find(ids)
        rows = self._rows.gather(places)
        return absent.put_into(rows, ids, tf.equal(places, ABSENT))

    def append(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Adds rows for ids that have none, to a table from which none was unlinked.

        Args:
            ids: int64, `(n,)`, each once.
            rows: float32, `(n, dim)`.
        """
        first = self.rows + 1
        places = tf.range(first, first + len(ids), dtype=tf.int64)
        self._rows.grow(tf.constant(first + len(ids), tf.int64))
        self._rows.write(places, tf.convert_to_tensor(rows))
        self._link(tf.convert_to_tensor(ids), places)

    def _find(self, ids: tf.Tensor) -> tf.Tensor:
        places = self._places.lookup(_product(ids, self._factor))
        places.set_shape(ids.shape)  # TensorFlow does not infer it.
        return places

    def _link(self, ids: tf.Tensor, places: tf.Tensor) -> None:
        self._places.insert(_product(ids, self._factor), places)

    def _unlink(self, ids: tf.Tensor) -> None:
        self._places.remove(_product(ids, self._factor))

    def _ids(self) -> tf.Tensor:
        return _product(self._places.export()[0], pow(self._factor, -1, 1 << 64))

    def _size(self) -> dict[str, tf.Tensor]:
        return {"ids": self._places.size(), "places": self._rows.count()}


def _product(ids: tf.Tensor, factor: int) -> tf.Tensor:
    """Returns the products modulo 2^64, as int64."""
    return splitmix.signed(splitmix.unsigned(ids) * splitmix.constant(factor))


def _function(body: Callable[..., Any], *signature: tf.TensorSpec) -> Any:
    return tf.function(body, input_signature=signature, autograph=False)
