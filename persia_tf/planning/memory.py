"""How much memory the rows of a table take on shards.

A shard divides each of its tables into 64 sub-shards. Each allocates its rows in
chunks, and finds them through an index of buckets of 64 bytes. The constants here are
those of `cc/store/row_slab.cc`, `cc/store/row_index.cc`, `cc/store/block_pool.h` and
`cc/store/id_groups.h`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from persia_tf.base.store_layout import SUB_SHARDS

# The last sub-shard has nearly twice as many ids as the first.
_SHARES = 2 ** (np.arange(SUB_SHARDS) / SUB_SHARDS)
_SHARES /= _SHARES.sum()

_BLOCK_BYTES = 64 << 10
_MOST_POOLED_ROW_BYTES = 4096
_LARGE_ROWS = 16
_FIRST_ROWS = 4

_BUCKET_BYTES = 64
_BUCKET_IDS = 5
_MOST_LOAD_PERCENT = 85
_FULL_BUCKETS = _BLOCK_BYTES // _BUCKET_BYTES
_HALF_BUCKETS = _FULL_BUCKETS // 8 * 5
# What `RowIndex::bytes` counts for a small index besides its buckets.
_LEAST_INDEX_BYTES = 128
EMPTY_INDEX_BYTES = _LEAST_INDEX_BYTES + _BUCKET_BYTES

# Numbers of ids vary by chance. If they are not few, they vary about as normal numbers
# do: these are some of their quantiles, each as likely.
_FEW = 20
_QUANTILES = np.array(
    [-1.834, -1.28, -0.967, -0.728, -0.524, -0.341, -0.168]
    + [0.0, 0.168, 0.341, 0.524, 0.728, 0.967, 1.28, 1.834]
)
# Those of the largest of many numbers that vary over time.
_HIGHEST = 2.5 + 0.4 * _QUANTILES
_SPLITS_FOLLOWED = 3


def table_bytes(
    rows: float,
    row_bytes: int,
    empty_bytes: int,
    shards: int = 1,
    counts_ids: bool = False,
    waiting: float = 0.0,
    counters: float = 0.0,
    turns_over: bool = False,
) -> float:
    """Returns the memory of a table, of all shards together.

    Args:
        rows: How many rows it has.
        row_bytes: The bytes of a row, without its index: see `RowLayout`.
        empty_bytes: The memory of a shard's part of the table without rows.
        shards: Over how many shards the rows are spread evenly.
        counts_ids: Whether admission counts the ids that have no row yet, as `MinCount`
            does.
        waiting: How many these are.
        counters: The bytes of the filter of `BloomMinCount`.
        turns_over: Whether rows are evicted while others are created. A sub-shard then
            keeps the memory of the most rows that it ever had.

    Returns:
        Bytes, as `ServiceStats` counts them.
    """
    total = empty_bytes - SUB_SHARDS * EMPTY_INDEX_BYTES
    total += _mean_sum(
        rows / shards,
        lambda own: _slab_bytes(own, row_bytes) + _index_bytes(own),
        _HIGHEST if turns_over else _QUANTILES,
    )
    if counts_ids:
        total += _mean_sum(waiting / shards, _index_bytes, _QUANTILES)
    return shards * total + counters


def _mean_sum(
    ids: float, size: Callable[[np.ndarray], np.ndarray], quantiles: np.ndarray
) -> float:
    """Returns the mean of the sum of `size` over the sub-shards that hold some ids."""
    means = ids * _SHARES[:, None]
    if means.max() < _FEW:
        # The distribution of Poisson.
        numbers = np.arange(5 * _FEW)
        logs = numbers * np.log(np.maximum(means, 1e-300)) - means
        chances = np.exp(logs - np.cumsum(np.log(np.maximum(numbers, 1))))
        return float((chances * size(numbers)).sum())
    numbers = np.maximum(np.rint(means + quantiles * np.sqrt(means)), 0)
    return float(size(numbers).mean(axis=1).sum())


def _slab_bytes(rows: np.ndarray, row_bytes: int) -> np.ndarray:
    """Returns the bytes of the chunks that hold some rows."""
    if row_bytes <= _MOST_POOLED_ROW_BYTES:
        chunk_rows, chunk_bytes = _BLOCK_BYTES // row_bytes, _BLOCK_BYTES
    else:
        chunk_rows, chunk_bytes = _LARGE_ROWS, _LARGE_ROWS * row_bytes
    doublings = np.ceil(np.log2(np.maximum(rows, _FIRST_ROWS) / _FIRST_ROWS))
    first_rows = np.minimum(_FIRST_ROWS * 2**doublings, chunk_rows)
    first = np.where(first_rows == chunk_rows, chunk_bytes, first_rows * row_bytes)
    chunks = np.ceil(rows / chunk_rows) * chunk_bytes
    return np.where(rows <= 0, 0, np.where(rows <= chunk_rows, first, chunks))


def _index_bytes(ids: np.ndarray) -> np.ndarray:
    """Returns the bytes of the index of some ids."""
    return _LEAST_INDEX_BYTES + _BUCKET_BYTES * _buckets(ids)


def _buckets(ids: np.ndarray) -> np.ndarray:
    # A segment that is full splits into halves, and these split in turn. The last
    # splits decide the size, so the number of ids is halved down to these first.
    most = _most_ids(_FULL_BUCKETS)
    factor = np.maximum(np.log2(np.maximum(ids, 1) / most) - _SPLITS_FOLLOWED, 0)
    times = 2 ** np.ceil(factor)
    return times * _split(ids / times, 1)


def _split(ids: np.ndarray, least: int) -> np.ndarray:
    sizes, most = _segment_sizes()
    places = np.minimum(np.searchsorted(most, np.ceil(ids)), len(sizes) - 1)
    whole = np.maximum(sizes[places], least)
    is_split = ids > most[-1]
    if not is_split.any():
        return whole.astype(float)
    halves = ids[is_split, None] / 2
    quantiles = halves + _QUANTILES[::3] * np.sqrt(halves / 2)
    split = np.asarray(whole, float)
    split[is_split] = 2 * _split(quantiles, _HALF_BUCKETS).mean(axis=1)
    return split


@functools.cache
def _segment_sizes() -> tuple[np.ndarray, np.ndarray]:
    """Returns the numbers of buckets that a segment grows through, and its most ids."""
    sizes = [1]
    while sizes[-1] < _FULL_BUCKETS:
        size = sizes[-1]
        unit = 1
        while 8 * unit <= size:
            unit *= 2
        sizes.append(size + (1 if size < 4 else 2 * unit if size == 6 * unit else unit))
    return np.array(sizes), np.array([_most_ids(size) for size in sizes])


def _most_ids(buckets: int) -> int:
    return _BUCKET_IDS * buckets * _MOST_LOAD_PERCENT // 100
