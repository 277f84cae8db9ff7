"""A table that stores and looks up rows by TensorFlow's own ops only."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.base import splitmix
from persia_tf.ops.absent_rows import ZEROS, AbsentRows
from persia_tf.serving.served_rows import ServedRows

# The place to which ids without a row map. The row at this place is never written, so
# that it stays zero.
ABSENT = 0

_IDS = tf.TensorSpec((None,), tf.int64)
_COUNT = tf.TensorSpec((), tf.int64)


class ServedTable(tf.Module):
    """A table of rows, which a program with only TensorFlow can look up and change.

    An id is linked to a place, and each place has a row. A SavedModel includes those
    attributes that are functions, so that a program that loads the SavedModel can
    update rows while it serves the model:

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

    A hash table maps ids to places. A lookup by the hash table takes a fifth longer
    than a gather at known places; a search in sorted ids would take more than twice as
    long. TensorFlow's hash of an id is the id modulo a prime, so an attacker who can
    choose ids for training could make all of these ids share a bucket. Therefore the
    key is not the id but the product of the id and a random odd number, modulo 2^64.
    Different ids have different products.

    Args:
        places: The initial number of places, at least 1: place 0 is reserved for ids
            without a row.
        dim: The number of weights per row.
        row_dtype: The format of stored weights: one of `served_rows.ROW_DTYPES`.

    Attributes:
        dim: The number of weights per row.
        find: Takes ids, int64 `(n,)`, and returns their places, int64 `(n,)`: 0 for an
            id without a row.
        write: Takes places, int64 `(n,)`, each once and none of them 0, and rows,
            float32 `(n, dim)`. Stores the rows at the places, in the table's dtype.
        link: Takes ids, int64 `(n,)`, and places, int64 `(n,)`. Links each id to its
            place.
        unlink: Takes ids, int64 `(n,)`, and removes the links to their places.
        grow: Takes a number of places, int64 `()`, and grows the table to at least this
            number. Growing copies all rows while lookups wait; therefore the table
            always grows by at least an eighth.
        ids: Returns all ids that have a place, int64 `(n,)`.
        read: Takes ids, int64 `(n,)`, and returns their rows, float32 `(n, dim)`; zeros
            for an id without a row.
        size: Returns a dict of int64 scalars: `"ids"`, the number of ids that have a
            place, and `"places"`, the number of places, place 0 included.
    """

    def __init__(self, places: int, dim: int, row_dtype: str) -> None:
        super().__init__()
        self.dim = dim
        self._factor = secrets.randbits(64) | 1
        self._rows = ServedRows(places, dim, row_dtype)
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
            absent: The vectors of ids without a row. Defaults to zeros.

        Returns:
            float32, `ids.shape + (dim,)`.
        """
        places = self._find(ids)
        rows = self._rows.gather(places)
        return absent.put_into(rows, ids, tf.equal(places, ABSENT))

    def append(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Adds rows for ids that have no row yet.

        Must not be called after an id of the table was unlinked.

        Args:
            ids: The ids, each of which occurs once: int64, `(n,)`.
            rows: The rows of these ids: float32, `(n, dim)`.
        """
        first = self.rows + 1
        places = tf.range(first, first + len(ids), dtype=tf.int64)
        self._rows.grow(tf.constant(first + len(ids), tf.int64))
        self._rows.write(places, tf.convert_to_tensor(rows))
        self._link(tf.convert_to_tensor(ids), places)

    def _find(self, ids: tf.Tensor) -> tf.Tensor:
        places = self._places.lookup(_product(ids, self._factor))
        places.set_shape(ids.shape)  # TensorFlow does not infer this shape.
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
    """Returns the products of the ids and the factor, modulo 2^64, as int64."""
    return splitmix.signed(splitmix.unsigned(ids) * splitmix.constant(factor))


def _function(body: Callable[..., Any], *signature: tf.TensorSpec) -> Any:
    return tf.function(body, input_signature=signature, autograph=False)
