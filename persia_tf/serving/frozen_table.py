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

# The place of ids that have none: its row stays as it is.
ABSENT = 0

_IDS = tf.TensorSpec((None,), tf.int64)
_COUNT = tf.TensorSpec((), tf.int64)


class FrozenTable(tf.Module):
    """Rows by id, which a program that has TensorFlow alone can look up and change.

    An id is linked to a place, and the place has a row. The functions among its
    attributes are kept in a SavedModel, so that whoever loads one can bring rows up
    to date while it serves:

    ```python
    table = tf.saved_model.load(path).tables["user"]
    table.grow(place + 1)
    table.write([place], [row])
    table.link([id], [place])
    ```

    Lookups may run meanwhile; one thread at a time changes the table. A lookup finds
    an id's place first and its row then. So a row is written before its id is linked,
    and a place whose id was unlinked is written again only once the lookups that
    found it are over.

    A hash table finds places, and not a search in sorted ids: a lookup takes a fifth
    longer than one by known places then, and not more than twice as long. Its hash
    is the id itself modulo a prime, so whoever chooses ids that are trained could have
    all of them share a bucket: what it finds places by is the id times a random odd
    number, modulo 2^64, which no two ids share.

    Args:
        places: How many there are at first: at least 1, place 0 being that of ids
            without a row.
        dim: Weights a row.
        row_dtype: How weights are held: one of `frozen_rows.ROW_DTYPES`.

    Attributes:
        dim: Weights a row.
        find: The places of ids, int64 `(n,)`: int64 `(n,)`, 0 for an id without one.
        write: Sets the rows of places, int64 `(n,)`, each once and none of them 0, to
            rows, float32 `(n, dim)`, made numbers of the table's type here.
        link: Gives ids, int64 `(n,)`, places, int64 `(n,)`.
        unlink: Takes ids, int64 `(n,)`, their places.
        grow: Makes it a count of places at least, int64 `()`: with an eighth to
            spare, since it copies all rows, and lookups wait meanwhile.
        ids: All ids that have a place: int64 `(n,)`.
        read: The rows of ids, int64 `(n,)`: float32 `(n, dim)`; zeros for an id
            without one.
        size: A dict of int64 `()`: `"ids"`, how many have a place, and `"places"`, how
            many there are, place 0 included.
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
        """How many rows it has."""
        return int(self._places.size())

    @property
    def bytes(self) -> int:
        """Bytes of the ids and their rows."""
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
        """Adds rows of ids that have none, where no id was unlinked.

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
    """Returns int64, modulo 2^64."""
    return splitmix.signed(splitmix.unsigned(ids) * splitmix.constant(factor))


def _function(body: Callable[..., Any], *signature: tf.TensorSpec) -> Any:
    return tf.function(body, input_signature=signature, autograph=False)
