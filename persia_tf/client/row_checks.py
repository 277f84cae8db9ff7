"""Checks of the ids, rows and optimizer state that users pass in."""

from __future__ import annotations

from typing import Any

import numpy as np

_INT64_MAX = np.iinfo(np.int64).max


def checked_ids(ids: Any) -> np.ndarray:
    """Returns `ids` as int64, or raises ValueError.

    `ids` must be integers that fit int64, in an array of rank 1.
    """
    given = np.asarray(ids)
    if given.ndim != 1:
        raise ValueError(
            f"`ids` must be of rank 1. Received: ids of shape {given.shape}"
        )
    if given.size and given.dtype.kind not in "iub":
        raise ValueError(
            "`ids` must be integers, since other types cannot represent every id. "
            f"Received: ids of dtype {given.dtype}"
        )
    if given.size and given.dtype == np.uint64 and given.max() > _INT64_MAX:
        raise ValueError(
            "`ids` must fit int64: convert uint64 ids by `ids.view('int64')`. "
            f"Received: {given.max()}"
        )
    return np.ascontiguousarray(given, np.int64)


def refuse_duplicates(ids: np.ndarray) -> None:
    """Raises ValueError if an id occurs more than once in `ids`."""
    ordered = np.sort(ids)
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if again.size:
        raise ValueError(
            "`ids` must be unique, since each id has one row: remove the duplicates. "
            f"Received: id {ordered[again[0]]} more than once"
        )


def checked_rows(rows: Any, count: int, dim: int) -> np.ndarray:
    """Returns `rows` as float32, or raises ValueError.

    `rows` must be finite numbers of shape `(count, dim)`.
    """
    return _floats("rows", rows, (count, dim), "dim")


def checked_state(state: Any, count: int) -> np.ndarray:
    """Returns `state` as float32, or raises ValueError.

    `state` must be finite numbers of shape `(count, n)`, for any n. For None, an array
    of shape `(count, 0)` is returned.
    """
    if state is None:
        return np.empty((count, 0), np.float32)
    given = np.asarray(state)
    # Any number of columns is accepted here, since the shards check it.
    width = given.shape[1] if given.ndim == 2 else "state_size"
    return _floats("state", given, (count, width), "state_size")


def _floats(name: str, values: Any, shape: tuple[Any, ...], width: str) -> np.ndarray:
    """Returns `values` as float32; raises ValueError unless finite and of `shape`."""
    given = np.asarray(values)
    if given.dtype.kind not in "fiu":
        raise ValueError(
            f"`{name}` must be numbers. Received: {name} of dtype {given.dtype}"
        )
    if given.shape != shape:
        raise ValueError(
            f"`{name}` must have the shape (len(ids), {width}), {shape}. "
            f"Received: {name} of shape {given.shape}"
        )
    with np.errstate(over="ignore"):
        floats = np.ascontiguousarray(given, np.float32)
    if not np.isfinite(floats).all():
        place = np.argwhere(~np.isfinite(floats))[0]
        raise ValueError(
            f"`{name}` must be finite as float32. "
            f"Received: {given[tuple(place)]} at {tuple(int(each) for each in place)}"
        )
    return floats
