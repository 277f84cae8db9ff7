"""Replaces the rows of a table by saved rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from absl import logging

from persia_tf.checkpoint import missing_rows
from persia_tf.saving import stored_rows
from persia_tf.saving.header import Header
from persia_tf.table import Table, uninterrupted


def replace_rows(table: Table, own: Header, store: Any, saved: Header) -> None:
    """Writes saved rows into a table, and then removes all other rows of the table.

    Args:
        table: The table.
        own: The header that describes the table now.
        store: A store that `stored_rows.store_rows` filled.
        saved: The header that was saved with the rows in the store.

    Raises:
        ValueError: if the store lacks some of the rows. The table is not changed in
            that case.
        PersiaError: if a shard does not answer. Some saved rows may already be written
            in that case; other rows are removed only after all saved rows are written.
    """
    # Raise an error before the table changes if the store is incomplete.
    stored_rows.read_ids(store, saved)
    before = len(table)
    changed = _count_others(table, store, saved) if before else 0
    removed = set_rows(table, own, store, saved)
    if not saved.keeps_state(own):
        logging.warning(
            "table '%s': the optimizer state of its rows starts over, since the rows "
            "were saved with %s and the table now has %s",
            *(table.name, saved.optimizer, own.optimizer),
        )
    _tell(table, before, changed, removed, saved)
    missing_rows.warn(table.name, len(table), saved.rows)


def _count_others(table: Table, store: Any, saved: Header) -> int:
    """Counts the ids whose saved vector differs from their vector in the table."""
    return sum(
        int((table.lookup(batch.ids) != batch.rows).any(axis=1).sum())
        for batch in stored_rows.read_rows(store, saved)
    )


def set_rows(table: Table, own: Header, store: Any, saved: Header) -> int:
    """Replaces the rows of a table as `replace_rows` does, but logs no messages.

    Returns:
        How many rows were removed from the table.
    """
    ids = stored_rows.read_ids(store, saved)
    before = len(table)
    _write(table, own, store, saved)
    removed = _remove_others(table, ids) if before else 0
    if before and len(table) < saved.rows:
        # Some saved rows are missing: the table may have been full, and have rejected
        # them in favor of other rows, which were used more often. The other rows have
        # been removed by now, so write the saved rows again.
        _write(table, own, store, saved)
    return removed


def _write(table: Table, own: Header, store: Any, saved: Header) -> None:
    keeps_state = saved.keeps_state(own)
    for batch in stored_rows.read_rows(store, saved):
        if not keeps_state:
            batch = batch._replace(state=batch.state[:, :0].copy())
        table.write(batch)


def _remove_others(table: Table, saved_ids: np.ndarray) -> int:
    saved_ids.sort()
    removed = 0

    def remove() -> None:
        nonlocal removed
        for batch in table.export():
            places = np.searchsorted(saved_ids, batch.ids)
            found = np.zeros(len(batch.ids), bool)
            inside = places < len(saved_ids)
            found[inside] = saved_ids[places[inside]] == batch.ids[inside]
            if not found.all():
                removed += table.remove(batch.ids[~found])

    uninterrupted(remove)
    return removed


def _tell(table: Table, before: int, changed: int, removed: int, saved: Header) -> None:
    if changed or removed:
        logging.warning(
            "table '%s' held %d rows, which the %d saved rows replaced: %d of these "
            "were new or had other vectors, and %d rows that were not saved were "
            "removed",
            *(table.name, before, saved.rows, changed, removed),
        )
    elif before:
        logging.info(
            "table '%s' has the %d rows that were saved, as before",
            *(table.name, saved.rows),
        )
    else:
        logging.info("table '%s' got %d rows that were saved", table.name, saved.rows)
