"""What a standalone export costs: latency, bytes, and the memory to write it.

    python benchmarks/serving_bench.py --write

Latency: the time of a call of an export's `serving_default`, in a process with only
TensorFlow, over the time of a SavedModel with `keras.layers.Embedding` of the same
size. The models have 26 features, with a table and an id for each. They are called in
turn, A B A B ..., with the same ids. Size: the bytes of an export over its payload:
for each row, 8 bytes for the id plus the weights. Memory: the peak memory of a
program that exports the rows of a shard, minus its memory before the export. The last
line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from latencies import percentiles_over, seconds_in_turn
from results_file import write_section
from turns import run_program

BASELINE = "keras"
_EXPORTS = "serving_exports.py"
_HEADING = """## Serving without shards

`benchmarks/serving_bench.py --write`: latency of a standalone export, over that of a
SavedModel with `keras.layers.Embedding`, called in turn; the size of the export's
folder over its payload, which is 8 bytes for the id plus the weights per row; and the
exporting program's peak memory, above what it had before and the folder's size."""


def served(folder: Path) -> Callable[..., Any]:
    """Returns a SavedModel's signature, which keeps the SavedModel loaded."""
    loaded = tf.saved_model.load(str(folder))
    signature = loaded.signatures["serving_default"]
    signature.model = loaded
    return signature


def measure_latency(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Calls each SavedModel in a folder in turn."""
    models = {path.name: served(path) for path in sorted(folder.iterdir())}
    _, named = models[BASELINE].structured_input_signature
    random = np.random.default_rng(0)
    shape = (arguments.batches, len(named), arguments.batch)
    ids = random.integers(0, arguments.rows, shape)
    batches = [dict(zip(named, map(tf.constant, one))) for one in ids]
    seconds = seconds_in_turn(models, batches, arguments.turns)
    return percentiles_over(seconds, BASELINE, "keras")


def markdown(figures: dict[str, Any]) -> str:
    lines = [
        "| rows | p50 | p99 | p50 over Keras's | p99 over Keras's "
        "| folder over payload | memory above the folder's size |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, took in figures["latency"].items():
        line = f"| {name} | {took['p50_ms']:.2f} ms | {took['p99_ms']:.2f} ms "
        line += f"| {took['p50_over_keras']:.2f} | {took['p99_over_keras']:.2f} "
        size = figures["size"].get(name)
        if size is None:
            line += "| | |"
        else:
            line += f"| {size['folder_over_payload']:.2f} "
            line += f"| {size['peak_over_folder_mb']:.0f} MB |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--turns", type=int, default=40, help="turns of each model")
    add("--batches", type=int, default=25, help="batches per turn")
    add("--batch", type=int, default=256)
    add("--rows", type=int, default=38_000, help="rows per table, for latency")
    add("--size-rows", type=int, default=1_000_000, help="rows of the table, for size")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.batches = 2, 5
        arguments.rows, arguments.size_rows = 1000, 10_000
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = round(os.getloadavg()[0], 2)
    with tempfile.TemporaryDirectory() as folder:
        latency, size = Path(folder, "latency"), Path(folder, "size")
        latency.mkdir()
        said = run_program(_EXPORTS, "latency", latency, "--rows", arguments.rows)
        figures = {"latency": measure_latency(latency, arguments)}
        sizes = run_program(_EXPORTS, "size", size, "--rows", arguments.size_rows)
        figures["size"] = sizes["figures"]
    table = markdown(figures)
    print(table)
    setup = {
        "turns": arguments.turns,
        "batches_a_turn": arguments.batches,
        "batch": arguments.batch,
        "rows_a_table": arguments.rows,
        "rows_for_size": arguments.size_rows,
        "cores": os.cpu_count(),
        "load_average_before": load,
        **said["setup"],
    }
    if arguments.write:
        note = (
            f"Set-up: CPU, {setup['cores']} cores, load {load} before; 26 tables of "
            f"{arguments.rows} rows of {setup['dim']}, batches of {arguments.batch}, "
            f"{arguments.turns} turns of {arguments.batches} requests; for size "
            f"{arguments.size_rows} rows; tensorflow {setup['tensorflow']}, keras "
            f"{setup['keras']}."
        )
        write_section("serving", f"{_HEADING}\n\n{table}\n{note}")
    print(json.dumps({"benchmark": "serving", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
