"""Fewer rows than ids: compositional embeddings, as `PersiaEmbedding` options.

Each id maps to several rows out of a smaller set, and its vector is combined from these
rows. Stock TensorFlow ops on unsigned 64-bit integers compute the ids of these rows, so
that an exported model needs neither this library nor a certain version of TensorFlow to
find the rows.
"""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.base import checks, splitmix
from persia_tf.client import session as session_lib
from persia_tf.table_settings.policy import Configured

__all__ = ["Compression", "HashStack", "QuotientRemainder"]

OPERATIONS = ("mul", "add")

_MAX_ROWS = 1 << 63
_RANGE_REASON = ", since a table can have at most 2**63 rows"


class Compression(Configured):
    """Base of the compressions: each chooses rows for an id and combines them."""

    def row_ids(self, ids: tf.Tensor) -> tf.Tensor:
        """Returns the ids of the rows from which each id's vector is combined.

        Args:
            ids: int64, of any shape and value; their bits are read as unsigned.

        Returns:
            int64, of shape `ids.shape + (parts,)`. Different parts never use the same
            row.
        """
        raise NotImplementedError

    def combine(self, rows: tf.Tensor) -> tf.Tensor:
        """Combines each id's rows into one vector.

        Args:
            rows: float32, `(..., parts, dim)`.

        Returns:
            float32, `(..., dim)`.
        """
        raise NotImplementedError


@keras.saving.register_keras_serializable(package="persia_tf")
class HashStack(Compression):
    """The sum of one row per hash of the id; each hash has its own set of rows.

    The table holds at most `hashes * buckets` rows, however many ids there are. Two
    ids share a vector only if all their hashes are equal; among n ids, there are about
    `n**2 / (2 * buckets**hashes)` such pairs. The method is that of Hash Embeddings
    (Svenstrup, Hansen and Winther, 2017) with all importance weights equal to 1.

    Row ids: with `u` the id as an unsigned integer, hash k is
    `h_k = splitmix64(u xor splitmix64(k)) mod buckets`, and its row has the id
    `k * buckets + h_k`.

    Example:

    ```python
    layer = ptf.layers.PersiaEmbedding(
        16, table="url", compression=ptf.compression.HashStack(buckets=1_000_000)
    )
    ```

    Args:
        buckets: Rows per hash, at least 2.
        hashes: Number of hashes, at least 1; with 1 hash, this is the hashing trick.
            Defaults to `2`.

    Raises:
        TypeError: if an argument is not an integer.
        ValueError: if an argument is out of its range.
    """

    def __init__(self, buckets: int, hashes: int = 2) -> None:
        self.buckets = _checked_buckets(buckets)
        self.hashes = checks.integer(
            "hashes", hashes, 1, _MAX_ROWS // self.buckets, _RANGE_REASON
        )

    def row_ids(self, ids: tf.Tensor) -> tf.Tensor:
        unsigned = splitmix.unsigned(ids)
        rows = [
            _buckets_of(_hashed(unsigned, salt), self.buckets)
            + splitmix.constant(level * self.buckets)
            for level, salt in enumerate(map(splitmix.mix_number, range(self.hashes)))
        ]
        return splitmix.signed(tf.stack(rows, axis=-1))

    def combine(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(rows, axis=-2)

    def get_config(self) -> dict[str, Any]:
        return {"buckets": self.buckets, "hashes": self.hashes}


@keras.saving.register_keras_serializable(package="persia_tf")
class QuotientRemainder(Compression):
    """Combines a row for the id's quotient by `buckets` and one for its remainder.

    Every id has a unique pair of rows, so no two ids are confused. Ids from 0 to
    n - 1 need `buckets + ceil(n / buckets)` rows, which is least for
    `buckets = sqrt(n)`. Ids that are spread over 64 bits, as hashes are, need about
    one row each, which saves nothing: use `HashStack` for such ids. The method follows
    Compositional Embeddings Using Complementary Partitions (Shi et al., KDD 2020).

    Row ids: with `u` the id as an unsigned integer, the two rows have the ids
    `u mod buckets` and `buckets + u // buckets`.

    Example:

    ```python
    layer = ptf.layers.PersiaEmbedding(
        16,
        table="item",
        embeddings_initializer=keras.initializers.RandomUniform(-0.3, 0.3),
        compression=ptf.compression.QuotientRemainder(buckets=10_000),
    )
    ```

    Args:
        buckets: The divisor, which is also the number of remainders, at least 2.
        operation: `"mul"` for the rows' product, element by element, or `"add"` for
            their sum. If weights lie within +-a, their products lie within +-a**2, so
            give `"mul"` a wider initializer. Defaults to `"mul"`.

    Raises:
        TypeError: if `buckets` is not an integer.
        ValueError: if an argument is out of its range.
    """

    def __init__(self, buckets: int, operation: str = "mul") -> None:
        self.buckets = _checked_buckets(buckets)
        checks.one_of("operation", operation, OPERATIONS)
        self.operation = operation

    def row_ids(self, ids: tf.Tensor) -> tf.Tensor:
        unsigned = splitmix.unsigned(ids)
        buckets = splitmix.constant(self.buckets)
        quotients = tf.math.floordiv(unsigned, buckets)
        remainders = unsigned - quotients * buckets
        return splitmix.signed(tf.stack([remainders, quotients + buckets], axis=-1))

    def combine(self, rows: tf.Tensor) -> tf.Tensor:
        remainders, quotients = tf.unstack(rows, num=2, axis=-2)
        if self.operation == "mul":
            return remainders * quotients
        return remainders + quotients

    def get_config(self) -> dict[str, Any]:
        return {"buckets": self.buckets, "operation": self.operation}


def get(compression: Compression | None) -> Compression | None:
    """Returns `compression` if it is None or a `Compression`.

    Raises:
        TypeError: for anything else.
    """
    if compression is None or isinstance(compression, Compression):
        return compression
    raise TypeError(
        "`compression` must be None or an object of `persia_tf.compression`, such as "
        f"HashStack(buckets=1000). Received: compression={compression!r}"
    )


_users: dict[tuple[str, str], Compression | None] = {}
_users_lock = threading.Lock()


def check_same(session: str, table: str, compression: Compression | None) -> None:
    """Checks that all layers of this process on a table have the same compression.

    Args:
        session: The session's name.
        table: The table's full name.
        compression: The layer's compression.

    Raises:
        ValueError: if another layer on the table has another compression: the two
            layers would train the same rows for different ids.
    """
    with _users_lock:
        first = _users.setdefault((session, table), compression)
    if first != compression:
        raise ValueError(
            "layers that share a table must have the same `compression`, since it "
            f"decides which rows an id uses. Table '{table}' has "
            f"compression={first!r}. Received: compression={compression!r}. Give the "
            "layer the same compression, or another `table`."
        )


def _forget(session: str, table: str) -> None:
    with _users_lock:
        _users.pop((session, table), None)


session_lib.when_dropped(_forget)


def _checked_buckets(buckets: Any) -> int:
    return checks.integer("buckets", buckets, 2, _MAX_ROWS, _RANGE_REASON)


def _buckets_of(hashes: tf.Tensor, buckets: int) -> tf.Tensor:
    return tf.math.floormod(hashes, splitmix.constant(buckets))


def _hashed(ids: tf.Tensor, salt: int) -> tf.Tensor:
    """Returns the hash splitmix64 of `ids xor salt`."""
    return splitmix.mix(tf.bitwise.bitwise_xor(ids, splitmix.constant(salt)))
