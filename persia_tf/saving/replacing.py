"""Makes a table's rows those that were saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from absl import logging

from persia_tf.saving import stored_rows
from persia_tf.saving.header import Header
from persia_tf.table import Table


def replace_rows(table: Table, own: Header, store: Any, saved: Header) -> None:
    """Assigns the rows that a store has, and then removes the others.

    Args:
        table: The table.
        own: Describes it.
        store: What `stored_rows.store_rows` filled.
        saved: Describes what is in it.

    Raises:
        ValueError: if a part of the rows is missing. The table is as it was then.
        PersiaError: if a shard does not answer. Some rows may be as saved then, but
            none is gone.
    """
    stored_rows.read_ids(store, saved)  # Before anything changes: is it whole?
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
    """Counts the ids that were saved with another vector than they have."""
    return sum(
        int((table.lookup(batch.ids) != batch.rows).any(axis=1).sum())
        for batch in stored_rows.read_rows(store, saved)
    )


def set_rows(table: Table, own: Header, store: Any, saved: Header) -> int:
    """Does as `replace_rows`, and tells nothing.

    Returns:
        How many rows were removed.
    """
    ids = stored_rows.read_ids(store, saved)
    before = len(table)
    _write(table, own, store, saved)
    removed = _remove_others(table, ids) if before else 0
    if before and len(table) < saved.rows:
        # A table that is full may have kept others, which were used more often.
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
    """Tells of rows that were saved and found no place."""
    held = len(table)
    if held < saved.rows:
        logging.warning(
            "table '%s' holds %d of the %d rows that were saved: its capacity has no "
            "room for the others, or their time was over",
            *(table.name, held, saved.rows),
        )
