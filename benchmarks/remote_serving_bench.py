"""What it costs an export to ask shards: latency over that of a standalone export.

    python benchmarks/remote_serving_bench.py --write

Calls `serving_default` of three exports of a model with 26 features and a table for
each: a standalone export, an export that asks two shards on this machine, and the
latter with copies of hot rows. A call has a batch of ids per feature. The exports are
called in turn, A B C A B C ..., with the same ids, in one process; the shards are
processes of their own. Ids are drawn from a Zipf distribution, so that some are hot.
The last line is one JSON object.
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
from shard_processes import running_shards
from w1_model import versions

import persia_tf as ptf
from persia_tf._keras import keras

FEATURES = 26
DIM = 16
SHARDS = 2
_ZIPF = 1.2
_HEADING = """## Serving from shards

`benchmarks/remote_serving_bench.py --write`: latency of an export that asks two shards
on the same machine, with and without copies of hot rows, over that of a standalone
export; called in turn, with the same ids."""


def make_model(cluster: ptf.Cluster, rows: int) -> Any:
    """Returns a model with an id per feature, whose tables have rows for all ids."""
    inputs = [keras.Input((), dtype="int64", name=f"c{i}") for i in range(FEATURES)]
    layers = [
        ptf.layers.PersiaEmbedding(DIM, table=f"c{i}", cluster=cluster)
        for i in range(FEATURES)
    ]
    joined = keras.layers.Concatenate()([e(x) for e, x in zip(layers, inputs)])
    random = np.random.default_rng(0)
    for layer in layers:
        vectors = random.normal(size=(rows, DIM)).astype("float32")
        layer.rows.assign(np.arange(rows), vectors)
    return keras.Model(inputs, keras.layers.Dense(1)(joined))


def export_all(model: Any, folder: Path, hot_rows: int) -> dict[str, Any]:
    """Writes the exports; returns their signatures, by the kind of export."""
    options = {
        "standalone": {},
        "remote": {"mode": "remote"},
        "remote, hot rows": {
            "mode": "remote",
            "remote": ptf.serving.Remote(hot_rows=hot_rows, hot_seconds=3600),
        },
    }
    served = {}
    for number, (name, given) in enumerate(options.items()):
        path = str(folder / str(number))
        ptf.serving.export(model, path, **given)
        loaded = tf.saved_model.load(path)
        served[name] = loaded.signatures["serving_default"]
        served[name].model = loaded  # The signature does not keep it alive.
    return served


def measure(
    served: dict[str, Callable[..., Any]], arguments: argparse.Namespace
) -> dict[str, list[float]]:
    """Returns the seconds of each call, by the kind of export."""
    random = np.random.default_rng(1)
    shape = (arguments.batches, FEATURES, arguments.batch)
    ids = random.zipf(_ZIPF, shape) % arguments.rows
    batches = [{f"c{i}": tf.constant(one) for i, one in enumerate(b)} for b in ids]
    return seconds_in_turn(served, batches, arguments.turns)


def figures_of(seconds: dict[str, list[float]]) -> dict[str, Any]:
    figures: dict[str, Any] = percentiles_over(seconds, "standalone", "standalone")
    for name, stats in zip(list(seconds)[1:], ptf.serving.remote_stats()):
        asked = stats.hot_hits + stats.hot_misses
        figures[name]["requests_a_call"] = FEATURES * stats.requests / stats.lookups
        figures[name]["hit_share"] = stats.hot_hits / asked if asked else 0.0
    return figures


def markdown(figures: dict[str, Any]) -> str:
    lines = [
        "| export | p50 | p99 | p50 over standalone | p99 over standalone |",
        "|---|---|---|---|---|",
    ]
    for name, took in figures.items():
        lines.append(
            f"| {name} | {took['p50_ms']:.2f} ms | {took['p99_ms']:.2f} ms "
            f"| {took['p50_over_standalone']:.2f} "
            f"| {took['p99_over_standalone']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--turns", type=int, default=40, help="turns of each export")
    add("--batches", type=int, default=25, help="batches per turn")
    add("--batch", type=int, default=256)
    add("--rows", type=int, default=38_000, help="rows per table")
    add("--hot-rows", type=int, default=10_000, help="hot rows copied per table")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.batches, arguments.rows = 2, 5, 1000
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = round(os.getloadavg()[0], 2)
    with running_shards(SHARDS) as shards, tempfile.TemporaryDirectory() as folder:
        cluster = ptf.Cluster([shard.address for shard in shards])
        model = make_model(cluster, arguments.rows)
        served = export_all(model, Path(folder), arguments.hot_rows)
        figures = figures_of(measure(served, arguments))
    table = markdown(figures)
    print(table)
    setup = {
        "shards": SHARDS,
        "turns": arguments.turns,
        "batches_a_turn": arguments.batches,
        "batch": arguments.batch,
        "rows_a_table": arguments.rows,
        "hot_rows": arguments.hot_rows,
        "zipf": _ZIPF,
        "dim": DIM,
        "cores": os.cpu_count(),
        "load_average_before": load,
        **versions(),
    }
    if arguments.write:
        share = figures["remote, hot rows"]["hit_share"]
        note = (
            f"Set-up: CPU, {setup['cores']} cores for all, load {load} before; "
            f"{FEATURES} tables of {arguments.rows} rows of {DIM}, batches of "
            f"{arguments.batch} ids a feature by Zipf({_ZIPF}), {arguments.turns} "
            f"turns of {arguments.batches} requests; copies of {arguments.hot_rows} "
            f"rows a table answered {share:.0%} of unique ids; tensorflow "
            f"{setup['tensorflow']}, keras {setup['keras']}."
        )
        write_section("remote serving", f"{_HEADING}\n\n{table}\n{note}")
    said = {"benchmark": "remote_serving", "figures": figures, "setup": setup}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
