"""Turns tables of pyarrow into tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
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

    A batch comes as one array: the bytes of its message, as Arrow writes it for other
    programs, of which an op makes tensors. To hand TensorFlow each column costs much
    more, and strings of Python are slower still.

    Args:
        schema: The columns, as a `pyarrow.Schema`.
    """

    def __init__(self, schema: Any) -> None:
        self._pa = pyarrow()
        self._empty = self._pa.RecordBatch.from_pylist([], schema)
        self._fields = [(field.name, field.type) for field in schema]

    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """Returns the specs of the arrays."""
        return (tf.TensorSpec([None], tf.uint8),)

    def arrays(self, table: Any) -> tuple[np.ndarray, ...]:
        """Returns the arrays of a table that has no nulls."""
        return (np.frombuffer(self.message(table), np.uint8),)

    def message(self, table: Any) -> Any:
        """Returns the one array of a table, as a `pyarrow.Buffer`."""
        # One batch, since each column has one chunk; but none of no rows.
        [batch] = table.combine_chunks().to_batches() or [self._empty]
        return batch.serialize()

    def named(self, arrays: Sequence[tf.Tensor]) -> Mapping[str, Any]:
        """Returns the columns by name: tensors, or ragged ones of lists."""
        [message] = arrays
        formats, dtypes = [], []
        for _, kind in self._fields:
            code, dtype = _TYPES[str(self._element(kind))]
            formats.append(self._list_code(kind) + code)
            dtypes += [dtype, tf.int64] if self._list_code(kind) else [dtype]
        columns = load.ops().persia_columns(
            message=message, formats=formats, dtypes=dtypes
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
