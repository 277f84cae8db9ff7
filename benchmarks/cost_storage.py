"""Measures what rows on a disk take: reads, checkpoints, and starting with them."""

from __future__ import annotations

import mmap
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from shard_processes import running_shards

_BLOCK = 4096
_THREADS = 32
_DIM = 16
_SAVES = 3
_ROWS_AT_ONCE = 200_000


def measure(quick: bool) -> dict[str, float]:
    """Returns the constants of `Costs` that are about disks and checkpoints."""
    reads = 200 if quick else 4000
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "blocks"
        blocks = _write_blocks(path, 16 if quick else 1024)
        one = _read_seconds(path, blocks, reads // 4)
        rate = _reads_per_second(path, blocks, reads)
    return {
        "read_seconds": one,
        "reads_per_second": rate,
        **_checkpoint(100_000 if quick else 4_000_000),
    }


def _checkpoint(rows: int) -> dict[str, float]:
    """Returns the rates of saving and restoring, and the index's bytes per row."""
    import persia_tf as ptf

    with tempfile.TemporaryDirectory() as folder:
        options = ("--checkpoint-root", folder)
        with running_shards(1, options) as shards:
            cluster = ptf.Cluster([shard.address for shard in shards])
            layer = ptf.layers.PersiaEmbedding(
                _DIM, table="costs", optimizer="adagrad", cluster=cluster
            )
            layer.build((None,))
            _fill(ptf.Table("costs", cluster), rows)
            [table] = [t for shard in cluster.stats() for t in shard.tables]
            saves, restores = [], []
            for _ in range(_SAVES):
                begin = time.perf_counter()
                saved = ptf.checkpoint.save("run", cluster=cluster, max_to_keep=1)
                between = time.perf_counter()
                ptf.checkpoint.restore("run", cluster=cluster)
                saves.append(between - begin)
                restores.append(time.perf_counter() - between)
            files = (Path(folder) / saved.folder).iterdir()
            size = sum(file.stat().st_size for file in files)
    # A row has weights, as many numbers of Adagrad's state, and its place in the index.
    own = 2 * 4 * _DIM
    return {
        "checkpoint_bytes_per_second": size / statistics.median(saves),
        "restore_bytes_per_second": size / statistics.median(restores),
        "row_index_bytes": table.bytes / table.rows - own,
    }


def _fill(table: Any, rows: int) -> None:
    """Sets the rows of ids from 0 on."""
    piece = np.full((_ROWS_AT_ONCE, _DIM), 0.01, np.float32)
    for begin in range(0, rows, _ROWS_AT_ONCE):
        ids = np.arange(begin, min(rows, begin + _ROWS_AT_ONCE))
        table.assign(ids, piece[: len(ids)])


def _write_blocks(path: Path, megabytes: int) -> int:
    """Writes a file of blocks; returns their number."""
    piece = np.random.default_rng(0).bytes(1 << 20)
    with path.open("wb") as file:
        for _ in range(megabytes):
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return megabytes * (1 << 20) // _BLOCK


def _read_seconds(path: Path, blocks: int, reads: int) -> float:
    """Returns the median time of one read that nothing else disturbs."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    try:
        seconds = []
        buffer = mmap.mmap(-1, _BLOCK)
        for place in np.random.default_rng(1).integers(blocks, size=reads):
            begin = time.perf_counter()
            os.preadv(file, [buffer], int(place) * _BLOCK)
            seconds.append(time.perf_counter() - begin)
        return statistics.median(seconds)
    finally:
        os.close(file)


def _reads_per_second(path: Path, blocks: int, reads: int) -> float:
    """Returns the rate of reads by many threads."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)

    def read_all(seed: int) -> None:
        buffer = mmap.mmap(-1, _BLOCK)
        for place in np.random.default_rng(seed).integers(blocks, size=reads):
            os.preadv(file, [buffer], int(place) * _BLOCK)

    try:
        begin = time.perf_counter()
        with ThreadPoolExecutor(_THREADS) as pool:
            list(pool.map(read_all, range(_THREADS)))
        return _THREADS * reads / (time.perf_counter() - begin)
    finally:
        os.close(file)
