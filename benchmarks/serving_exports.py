"""Writes the exports that serving_bench.py measures, in a process of its own.

    python benchmarks/serving_exports.py latency FOLDER     # a model of each kind
    python benchmarks/serving_exports.py size FOLDER        # many rows, for each dtype

`latency`: models of 26 features, a table for each, and one Dense(1). `size`: a table on
a shard; measures the bytes of the folder and the memory that the program took to write
it. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from processes import peak_memory_mb, resident_mb
from shard_processes import running_shards
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras

FEATURES = 26
DIM = 16
ROW_DTYPES = ("float32", "float16", "int8")
_FILL_ROWS = 200_000  # Per request.


def model_of(embeddings: list[Any]) -> Any:
    """Returns a model with an id per feature."""
    ids = [keras.Input((), dtype="int64", name=f"c{i}") for i in range(len(embeddings))]
    vectors = [embedding(one) for embedding, one in zip(embeddings, ids)]
    joined = keras.layers.Concatenate()(vectors) if len(ids) > 1 else vectors[0]
    return keras.Model(ids, keras.layers.Dense(1)(joined))


def embedding_of(table: str, cluster: Any) -> Any:
    return ptf.layers.PersiaEmbedding(DIM, table=table, cluster=cluster)


def fill(table: Any, rows: int) -> None:
    random = np.random.default_rng(0)
    for begin in range(0, rows, _FILL_ROWS):
        ids = np.arange(begin, min(rows, begin + _FILL_ROWS))
        table.assign(ids, random.normal(size=(len(ids), DIM)).astype("float32"))


def make_latency(folder: Path, rows: int) -> dict[str, Any]:
    """Writes a SavedModel of Keras's own embeddings, and an export for each dtype."""
    plain = model_of([keras.layers.Embedding(rows, DIM) for _ in range(FEATURES)])
    plain.export(str(folder / "keras"))
    cluster = ptf.Cluster.embedded()
    layers = [embedding_of(f"c{i}", cluster) for i in range(FEATURES)]
    model = model_of(layers)
    for layer in layers:
        fill(layer.rows, rows)
    for row_dtype in ROW_DTYPES:
        ptf.serving.export(model, folder / row_dtype, row_dtype=row_dtype)
    return {}


def make_size(folder: Path, rows: int) -> dict[str, Any]:
    """Exports a table of a shard; returns bytes and memory by dtype."""
    figures = {}
    with running_shards(1) as [shard]:
        layer = embedding_of("t", ptf.Cluster([shard.address]))
        model = model_of([layer])
        fill(layer.rows, rows)
        for row_dtype in ROW_DTYPES:
            figures[row_dtype] = _export(model, folder / row_dtype, row_dtype)
    return figures


def _export(model: Any, path: Path, row_dtype: str) -> dict[str, float]:
    before = resident_mb(os.getpid())
    Path("/proc/self/clear_refs").write_text("5")  # Resets the peak.
    payload = sum(
        table.bytes
        for table in ptf.serving.export(model, path, row_dtype=row_dtype).tables
    )
    peak = peak_memory_mb(os.getpid()) - before
    size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return {
        "payload_mb": payload / 2**20,
        "folder_mb": size / 2**20,
        "folder_over_payload": size / payload,
        "peak_memory_mb": peak,
        "peak_over_folder_mb": peak - size / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["latency", "size"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True, help="rows per table")
    arguments = parser.parse_args()
    make = make_latency if arguments.what == "latency" else make_size
    figures = make(arguments.folder, arguments.rows)
    setup = {"rows": arguments.rows, "dim": DIM, **versions()}
    print(json.dumps({"benchmark": "serving", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
