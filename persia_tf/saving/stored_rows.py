"""Rows of a table in a store of Keras, which holds arrays by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from persia_tf.saving.header import Header
from persia_tf.table import Rows, Table

_HEADER = "persia_rows"


def stored_bytes(table: Table) -> int:
    """Returns how many bytes `store_rows` would store, about."""
    rows = len(table)
    if not rows:
        return 0
    batch = next(table.export(1))
    return rows * (8 + 4 * (batch.rows.shape[1] + batch.state.shape[1]))


def store_rows(store: Any, table: Table, header: Header) -> None:
    """Stores a table's rows and what describes them, a batch at a time.

    Args:
        store: Takes arrays by name, and what else is in it stays.
        table: The table.
        header: Describes it; how many rows there are is not known yet.
    """
    rows = batches = 0
    for batch in table.export():
        if not len(batch.ids):
            continue
        for name, array in zip(_names(batches), batch):
            store[name] = array
        rows += len(batch.ids)
        batches += 1
    header = dataclasses.replace(header, rows=rows, batches=batches)
    store_header(store, header)


def store_header(store: Any, header: Header) -> None:
    """Stores what describes a table whose rows are not in the store."""
    store[_HEADER] = header.to_array()


def read_header(store: Any) -> Header | None:
    """Returns what describes the rows in a store; None if it has none."""
    # Stores of some Keras know no `in`.
    return Header.from_array(store[_HEADER]) if _HEADER in set(store.keys()) else None


def read_ids(store: Any, header: Header) -> np.ndarray:
    """Returns the ids of all rows, int64."""
    parts = [np.asarray(store[_names(b)[0]]) for b in range(header.batches)]
    return np.concatenate([np.empty(0, np.int64), *parts])


def read_rows(store: Any, header: Header) -> Iterator[Rows]:
    """Gives the rows, a batch at a time."""
    for batch in range(header.batches):
        ids, rows, state = (np.asarray(store[name]) for name in _names(batch))
        yield Rows(
            np.ascontiguousarray(ids, np.int64),
            np.ascontiguousarray(rows, np.float32),
            np.ascontiguousarray(state, np.float32),
        )


def _names(batch: int) -> list[str]:
    return [f"persia_{part}_{batch}" for part in Rows._fields]
