"""A table's rows in a graph of stock TensorFlow ops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from persia_tf.serving.frozen_rows import FrozenRows
from persia_tf.table import Table

# The row of ids that have none.
_ABSENT = 0


class FrozenTable(tf.Module):
    """Finds rows by their ids with a hash table of TensorFlow.

    A hash table, and not a search in sorted ids: a lookup takes a fifth longer than
    one by known places then, and not more than twice as long.

    Args:
        table: The table that it is filled from.
        row_dtype: How weights are held: one of `frozen_rows.ROW_DTYPES`.
        tell: Called with how many rows of each batch were taken. None: nobody is.
    """

    def __init__(
        self, table: Table, row_dtype: str, tell: Callable[[int], None] | None = None
    ) -> None:
        super().__init__()
        self.dim = table.dim
        # Rows may come while they are walked.
        self._rows = FrozenRows(len(table) + 1, self.dim, row_dtype)
        self._places = tf.lookup.experimental.MutableHashTable(
            key_dtype=tf.int64, value_dtype=tf.int64, default_value=_ABSENT
        )
        self._rows.append(np.zeros((1, self.dim), np.float32))
        for batch in table.export():
            first = self._rows.filled
            self._rows.append(batch.rows)
            self._places.insert(batch.ids, np.arange(first, self._rows.filled))
            if tell is not None:
                tell(len(batch.ids))

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self._rows.filled - 1

    @property
    def bytes(self) -> int:
        """Bytes of the ids and their rows."""
        return self.rows * (8 + self._rows.row_bytes)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks rows up.

        Args:
            ids: int64, any shape.

        Returns:
            float32, `ids.shape + (dim,)`; zeros for an id without a row.
        """
        places = self._places.lookup(ids)
        places.set_shape(ids.shape)  # TensorFlow does not infer it.
        return self._rows.gather(places)
