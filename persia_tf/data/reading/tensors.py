"""Turns tables of pyarrow into tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from persia_tf.data.reading.opening import pyarrow
from persia_tf.ops import load

# By pyarrow's name of a type, its format in Arrow's C data interface, and TensorFlow's.
_TYPES = {
    "bool": ("b", tf.bool),
    "int8": ("c", tf.int8),
    "uint8": ("C", tf.uint8),
    "int16": ("s", tf.int16),
    "uint16": ("S", tf.uint16),
    "int32": ("i", tf.int32),
    "uint32": ("I", tf.uint32),
    "int64": ("l", tf.int64),
    "uint64": ("L", tf.uint64),
    "halffloat": ("e", tf.float16),
    "float": ("f", tf.float32),
    "double": ("g", tf.float64),
    "string": ("u", tf.string),
    "large_string": ("U", tf.string),
    "binary": ("z", tf.string),
    "large_binary": ("Z", tf.string),
}


class Columns:
    """The tensors of a batch's columns.

    A batch is handed over as a whole, by the place where a `BatchBox` holds it, and an
    op makes tensors of it. To hand TensorFlow each column costs much more, and strings
    of Python are slower still.

    Args:
        schema: The columns, as a `pyarrow.Schema`.
    """

    def __init__(self, schema: Any) -> None:
        self._pa = pyarrow()
        self._types = schema.types
        self._fields = [(field.name, field.type) for field in schema]

    def batches(self, table: Any) -> list[Any]:
        """Returns the `pyarrow.RecordBatch`es of a table that has no nulls.

        There are several if the table's columns have several chunks.

        Raises:
            TypeError: if the table has other columns.
        """
        # The op takes the types for granted.
        if table.schema.types != self._types:
            raise TypeError(
                f"the rows have the types {table.schema.types}, instead of "
                f"{self._types}"
            )
        return table.to_batches()

    def batch(self, table: Any) -> Any:
        """Returns the one `pyarrow.RecordBatch` of a table that has rows."""
        [batch] = self.batches(table.combine_chunks())
        return batch

    def taken(self, place: tf.Tensor) -> Mapping[str, Any]:
        """Takes a batch, given its place: see `PLACE_SPEC`.

        Returns:
            The columns by name: tensors, or ragged ones of lists.
        """
        formats, dtypes = [], []
        for _, kind in self._fields:
            code, dtype = _TYPES[str(self._element(kind))]
            formats.append(self._list_code(kind) + code)
            dtypes += [dtype, tf.int64] if self._list_code(kind) else [dtype]
        columns = load.ops().persia_take_batch(
            place=place, formats=formats, dtypes=dtypes
        )
        return self._of_tensors(iter(columns))

    def _of_tensors(self, tensors: Any) -> dict[str, Any]:
        named = {}
        for name, kind in self._fields:
            values = next(tensors)
            values.set_shape([None])
            if self._list_code(kind):
                splits = next(tensors)
                splits.set_shape([None])
                values = tf.RaggedTensor.from_row_splits(values, splits, validate=False)
            named[name] = values
        return named

    def _list_code(self, kind: Any) -> str:
        if self._pa.types.is_list(kind):
            return "+l"
        return "+L" if self._pa.types.is_large_list(kind) else ""

    def _element(self, kind: Any) -> Any:
        return kind.value_type if self._list_code(kind) else kind
