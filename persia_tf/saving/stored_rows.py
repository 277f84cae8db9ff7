"""Stores the rows of a table in a store of Keras, which holds arrays by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from persia_tf.saving.header import Header
from persia_tf.table import Rows, Table, uninterrupted

_HEADER = "persia_rows"


def stored_bytes(table: Table) -> int:
    """Returns approximately how many bytes `store_rows` would store."""
    rows = len(table)
    batch = uninterrupted(lambda: next(table.export(1), None))
    if batch is None:  # The table is empty, or all of its rows have expired.
        return 0
    return rows * (8 + 4 * (batch.rows.shape[1] + batch.state.shape[1]))


def store_rows(store: Any, table: Table, header: Header) -> None:
    """Stores a table's rows in batches, and then the header that describes them.

    Args:
        store: A mapping from names to arrays. Its other entries are not changed.
        table: The table.
        header: Describes the table. The stored header is a copy with the actual `rows`
            and `batches`.
    """
    # All rows are read before the first is stored, since the stores of some Keras
    # versions cannot replace what they contain.
    batches = uninterrupted(
        lambda: [batch for batch in table.export() if len(batch.ids)]
    )
    for number, batch in enumerate(batches):
        for name, array in zip(_names(number), batch):
            store[name] = array
    rows = sum(len(batch.ids) for batch in batches)
    header = dataclasses.replace(header, rows=rows, batches=len(batches))
    store_header(store, header)


def store_header(store: Any, header: Header) -> None:
    """Stores a header only, as for a table whose rows are stored in a checkpoint."""
    store[_HEADER] = header.to_array()


def read_header(store: Any) -> Header | None:
    """Returns the header in a store, or None if the store contains no header."""
    # Search a set of the names, since the stores of some Keras versions do not support
    # `in`.
    return Header.from_array(store[_HEADER]) if _HEADER in set(store.keys()) else None


def read_ids(store: Any, header: Header) -> np.ndarray:
    """Returns the ids of all rows in a store, as an int64 array.

    Raises:
        ValueError: if the store lacks some of the rows that `header` describes.
    """
    names = [name for batch in range(header.batches) for name in _names(batch)]
    missing = sorted(set(names) - set(store.keys()))
    if missing:
        raise ValueError(
            f"what is being loaded is incomplete: of the {len(names)} arrays with "
            f"rows of table '{header.table}', {len(missing)} are missing, for example "
            f"{missing[0]!r}. Load another file of the model."
        )
    parts = [np.asarray(store[_names(b)[0]]) for b in range(header.batches)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def read_rows(store: Any, header: Header) -> Iterator[Rows]:
    """Yields the rows of a store, in the batches in which they were stored."""
    for batch in range(header.batches):
        ids, rows, state = (np.asarray(store[name]) for name in _names(batch))
        yield Rows(
            np.ascontiguousarray(ids, np.int64),
            np.ascontiguousarray(rows, np.float32),
            np.ascontiguousarray(state, np.float32),
        )


def _names(batch: int) -> list[str]:
    return [f"persia_{part}_{batch}" for part in Rows._fields]
