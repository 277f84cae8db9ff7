"""Turns tables of pyarrow into tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.data.reading.opening import pyarrow


class Columns:
    """The tensors of a batch's columns.

    They come as a flat tuple of NumPy arrays, since those are what a generator hands
    TensorFlow at the least cost: of a column of lists, the values of all lists and
    where each list begins and ends.

    Args:
        schema: The columns, as a `pyarrow.Schema`.
    """

    def __init__(self, schema: Any) -> None:
        self._types = pyarrow().types
        self._fields = [(field.name, field.type) for field in schema]

    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """Returns the specs of the arrays."""
        specs = []
        for _, kind in self._fields:
            specs.append(tf.TensorSpec([None], _dtype(self._element(kind))))
            if self._is_list(kind):
                specs.append(tf.TensorSpec([None], tf.int64))
        return tuple(specs)

    def arrays(self, table: Any) -> tuple[np.ndarray, ...]:
        """Returns the arrays of a table."""
        arrays: list[np.ndarray] = []
        for name, kind in self._fields:
            column = table.column(name)
            column = column.chunk(0) if column.num_chunks == 1 else _one(column)
            if self._is_list(kind):
                splits = column.offsets.to_numpy().astype(np.int64)
                arrays.append(_numbers(column.flatten()))
                arrays.append(splits - splits[0])
            else:
                arrays.append(_numbers(column))
        return tuple(arrays)

    def named(self, arrays: Sequence[tf.Tensor]) -> Mapping[str, Any]:
        """Returns the columns by name: tensors, or ragged ones of lists."""
        left = iter(arrays)
        named = {}
        for name, kind in self._fields:
            values = next(left)
            if self._is_list(kind):
                values = tf.RaggedTensor.from_row_splits(
                    values, next(left), validate=False
                )
            named[name] = values
        return named

    def _is_list(self, kind: Any) -> bool:
        return self._types.is_list(kind) or self._types.is_large_list(kind)

    def _element(self, kind: Any) -> Any:
        return kind.value_type if self._is_list(kind) else kind


def _one(column: Any) -> Any:
    joined = column.combine_chunks()
    # Of an empty column, the chunks are none.
    return joined.chunk(0) if hasattr(joined, "num_chunks") else joined


def _numbers(array: Any) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False)


def _dtype(kind: Any) -> tf.DType:
    name = str(kind)
    special = {
        "bool": tf.bool,
        "float": tf.float32,
        "double": tf.float64,
        "halffloat": tf.float16,
    }
    if name in special:
        return special[name]
    is_text = "string" in name or "binary" in name
    return tf.string if is_text else tf.as_dtype(name)
