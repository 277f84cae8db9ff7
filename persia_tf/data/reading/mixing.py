"""Mixes the rows of tables."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from persia_tf.data.reading.opening import pyarrow
from persia_tf.native import capi

_MOST_THREADS = 4


def mixed(pieces: list[Any], order: np.ndarray) -> Any:
    """Returns the rows of some tables in another order.

    A column at a time, so that a second copy of a few columns is in memory only.

    Args:
        pieces: Tables with the same columns and no nulls, which follow each other. The
            list becomes empty, and their memory is freed if nothing else refers to
            them.
        order: For each row of the result, the number of the row to take.
    """
    if not len(order):
        return pieces.pop()
    pa = pyarrow()
    schema = pieces[0].schema
    # The memory that smaller numbers leave alone is worth their making.
    is_small = len(order) <= np.iinfo(np.int32).max
    places = order.astype(np.int32) if is_small else order
    columns = [
        [chunk for piece in pieces for chunk in piece.column(i).chunks]
        for i in range(len(schema))
    ]
    pieces.clear()

    def take(chunks: list[Any]) -> Any:
        kind = chunks[0].type
        if is_small and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            return pa.array(_numbers(chunks, places), kind)
        # Taking from one chunk is much faster than from several.
        joined = pa.concat_arrays(chunks)
        chunks.clear()
        return joined.take(pa.array(places))

    threads = min(os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(threads, "persia_mixer") as pool:
        return pa.Table.from_arrays(list(pool.map(take, columns)), schema=schema)


def _numbers(chunks: list[Any], places: np.ndarray) -> np.ndarray:
    # NumPy, unlike pyarrow, asks the system for large pages, which are cleared many
    # times faster.
    joined = np.concatenate([chunk.to_numpy() for chunk in chunks])
    chunks.clear()
    taken = np.empty(len(places), joined.dtype)
    capi.library().persia_gather(
        *(joined.ctypes.data, len(joined), joined.itemsize),
        places.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)),
        *(len(places), taken.ctypes.data),
    )
    return taken
