"""Replaces the rows of a table by those that were saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from absl import logging

from persia_tf.saving import stored_rows
from persia_tf.saving.header import Header
from persia_tf.table import Table


def replace_rows(table: Table, own: Header, store: Any, saved: Header) -> None:
    """Assigns the rows of a store, and then removes all other rows of the table.

    Args:
        table: The table.
        own: Describes the table.
        store: A store that `stored_rows.store_rows` filled.
        saved: Describes the rows in the store.

    Raises:
        ValueError: if a part of the rows is missing in the store. The table is
            unchanged then.
        PersiaError: if a shard does not answer. Some rows may have their saved values
            then; no row is removed before all have them.
    """
    stored_rows.read_ids(store, saved)  # Checks that the store is complete.
    before = len(table)
    changed = _count_others(table, store, saved) if before else 0
    removed = set_rows(table, own, store, saved)
    if not saved.keeps_state(own):
        logging.warning(
            "table '%s': the optimizer state of its rows begins anew, since it was "
            "saved with another optimizer: %s, now %s",
            *(table.name, saved.optimizer, own.optimizer),
        )
    _tell(table, before, changed, removed, saved)
    warn_of_missing(table, saved)


def _count_others(table: Table, store: Any, saved: Header) -> int:
    """Counts the ids whose saved vector differs from the current one."""
    return sum(
        int((table.lookup(batch.ids) != batch.rows).any(axis=1).sum())
        for batch in stored_rows.read_rows(store, saved)
    )


def set_rows(table: Table, own: Header, store: Any, saved: Header) -> int:
    """Does what `replace_rows` does, without messages.

    Returns:
        How many rows were removed.
    """
    ids = stored_rows.read_ids(store, saved)
    before = len(table)
    _write(table, own, store, saved)
    removed = _remove_others(table, ids) if before else 0
    if before and len(table) < saved.rows:
        # A full table may have rejected some, in favor of rows that were used more
        # often and are removed now.
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
    for batch in table.export():
        places = np.searchsorted(saved_ids, batch.ids)
        found = np.zeros(len(batch.ids), bool)
        inside = places < len(saved_ids)
        found[inside] = saved_ids[places[inside]] == batch.ids[inside]
        if not found.all():
            removed += table.remove(batch.ids[~found])
    return removed


def _tell(table: Table, before: int, changed: int, removed: int, saved: Header) -> None:
    if changed or removed:
        logging.warning(
            "table '%s' held %d rows: those that were saved, %d, took their place, of "
            "which %d were not there or had other vectors, and %d others were removed",
            *(table.name, before, saved.rows, changed, removed),
        )
    elif before:
        logging.info(
            "table '%s' has the %d rows that were saved, as before",
            *(table.name, saved.rows),
        )
    else:
        logging.info("table '%s' got %d rows that were saved", table.name, saved.rows)


def warn_of_missing(table: Table, saved: Header) -> None:
    """Logs a warning if the table does not hold all rows that were saved."""
    held = len(table)
    if held < saved.rows:
        logging.warning(
            "table '%s' holds %d of the %d rows that were saved: its capacity has no "
            "room for the others, or their time was over",
            *(table.name, held, saved.rows),
        )
