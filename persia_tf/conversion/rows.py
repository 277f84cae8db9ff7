"""Copies the weights of an `Embedding` to the rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from persia_tf.table import Table

_CHUNK_ROWS = 2**16


def refuse_other_rows(table: Table, embedding: Any) -> None:
    """Raises ValueError if a table holds rows that differ from the layer's.

    Args:
        table: A table of the layer's dim.
        embedding: The `keras.layers.Embedding`.
    """
    if not len(table):
        return
    for ids, rows in _chunks(embedding):
        held = table.lookup(ids)
        # Zeros are ignored: the lookup returns them for ids without a row.
        other = (held != rows).any(axis=1) & held.any(axis=1)
        if other.any():
            raise ValueError(
                f"table '{table.name}' already holds rows, and that of id "
                f"{ids[other][0]} is not that of layer '{embedding.name}': the "
                "conversion would overwrite it. If it comes from an earlier "
                "conversion, go on with the model that came out of that; to start "
                "anew, give another `table_prefix`."
            )


def carry_over(embedding: Any, table: Table) -> None:
    """Sets the rows of ids 0 to `input_dim - 1` to the layer's weights."""
    for ids, rows in _chunks(embedding):
        table.assign(ids, rows)


def _chunks(embedding: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    [weights] = embedding.get_weights()
    for first in range(0, len(weights), _CHUNK_ROWS):
        rows = weights[first : first + _CHUNK_ROWS].astype(np.float32)
        yield np.arange(first, first + len(rows)), rows
