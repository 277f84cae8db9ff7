"""What a training step costs, by the number of tables, shards and examples.

    python benchmarks/step_cost.py --write

The model has embeddings and almost nothing else; rows are in external shards, and
lookups are prefetched. Each sweep changes the number of tables, of shards or of
examples per step, starting from 26 tables, 2 shards and the sweep's batch size.
Normally each table adds a column of ids; in a separate sweep, 200 columns are spread
over more and more tables, so that only the number of tables changes. All points run in
turn, repeatedly; each is a process of its own. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from results_file import write_section
from turns import run_program

WARM_UP_STEPS = 20
BATCHES = 20
DIM = 16
_HEADING = """## Cost of a step

`benchmarks/step_cost.py --write`: medians; rows of 16 float32 with Adagrad, prefetched
lookups, shards and training program on one machine."""


class Point(NamedTuple):
    """A point of a sweep."""

    columns: int  # Columns of ids: an example has an id in each.
    tables: int
    shards: int
    batch: int


SWEEPS = {
    "tables": [Point(tables, tables, 2, 512) for tables in (1, 26, 200)],
    "tables, same ids": [Point(200, tables, 2, 512) for tables in (1, 26, 200)],
    "shards": [Point(26, 26, shards, 4096) for shards in (1, 2, 4, 8)],
    "batch": [Point(26, 26, 2, 1 << power) for power in range(9, 15)],
}
QUICK_SWEEPS = {
    "tables": [Point(tables, tables, 2, 64) for tables in (1, 8)],
    "tables, same ids": [Point(8, tables, 2, 64) for tables in (1, 8)],
    "shards": [Point(8, 8, shards, 64) for shards in (1, 2)],
    "batch": [Point(8, 8, 2, batch) for batch in (64, 128)],
}


def train(point: Point, arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains with the numbers of a point; returns its figures."""
    import tensorflow as tf
    import w1_model
    from shard_processes import running_shards

    import persia_tf as ptf

    ids = make_ids(point)
    labels = ids[..., :1] % 2
    dataset = tf.data.Dataset.from_tensor_slices((ids, labels.astype("float32")))
    windows = w1_model.Windows(arguments.windows, arguments.seconds, WARM_UP_STEPS)
    with running_shards(point.shards) as shards:
        addresses = [shard.address for shard in shards]
        cluster = ptf.Cluster(addresses, staleness=arguments.staleness)
        model = make_model(point, cluster)
        model.fit(
            ptf.data.prefetch(dataset.repeat(), model, staleness=arguments.staleness),
            steps_per_epoch=10**9,
            verbose=0,
            callbacks=[windows],
        )
        traffic = w1_model.traffic(windows.total_steps)
    ms = [1e3 * seconds / steps for steps, seconds in windows.measured]
    step = statistics.median(ms)
    return {
        "ms_per_step": step,
        "us_per_1000_ids": 1e6 * step / (point.columns * point.batch),
        **traffic,
    }


def make_ids(point: Point) -> Any:
    """Returns ids, `(batches, batch, columns)`, distributed as those of W1."""
    import numpy as np
    import workload_w1

    ranks = workload_w1.load(BATCHES, point.batch).ranks
    columns = np.arange(point.columns)
    return workload_w1.ids_of(ranks[..., columns % workload_w1.FEATURES], columns)


def make_model(point: Point, cluster: Any) -> Any:
    """Returns a model that sums all rows of an example and outputs a logit."""
    import persia_tf as ptf
    from persia_tf._keras import keras

    ids = keras.Input(shape=(point.columns,), dtype="int64")
    sums = []
    for table in range(point.tables):
        layer = ptf.layers.PersiaEmbedding(
            DIM, table=f"t{table}", combiner="sum", cluster=cluster
        )
        sums.append(layer(ids[:, table :: point.tables]))
    total = keras.layers.Add()(sums) if len(sums) > 1 else sums[0]
    model = keras.Model(ids, keras.layers.Dense(1)(total))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01), loss)
    return model


def run_sweeps(arguments: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    """Runs the points in turn, repeatedly; returns the medians, by sweep."""
    sweeps = QUICK_SWEEPS if arguments.quick else SWEEPS
    sweeps = {name: sweeps[name] for name in arguments.sweep or sweeps}
    options = ["--staleness", arguments.staleness, "--windows", arguments.windows]
    options += ["--seconds", arguments.seconds]
    turns: dict[Point, list[dict[str, Any]]] = {}
    for _ in range(arguments.turns):
        for point in dict.fromkeys(p for points in sweeps.values() for p in points):
            said = run_program("step_cost.py", *options, "--point", *point)
            turns.setdefault(point, []).append(said["figures"])
    return {
        sweep: [{**point._asdict(), **_medians(turns[point])} for point in points]
        for sweep, points in sweeps.items()
    }


def _medians(turns: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(one[name] for one in turns) for name in turns[0]}


def markdown(results: dict[str, list[dict[str, Any]]]) -> str:
    """Returns a table of all sweeps."""
    lines = [
        "| varied | columns | tables | shards | batch | ms a step | µs a 1000 ids "
        "| kB a step, both ways | ms a MB | lookup requests a step |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for sweep, points in results.items():
        for point in points:
            kilobytes = (point["bytes_out_per_step"] + point["bytes_in_per_step"]) / 1e3
            lines.append(
                f"| {sweep} | {point['columns']} | {point['tables']} "
                f"| {point['shards']} | {point['batch']} "
                f"| {point['ms_per_step']:.2f} | {point['us_per_1000_ids']:.1f} "
                f"| {kilobytes:.0f} | {1e3 * point['ms_per_step'] / kilobytes:.1f} "
                f"| {point['lookup_requests_per_step']:.2f} |"
            )
    return "\n".join(lines) + "\n"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--turns", type=int, default=2, help="turns of each point")
    add("--windows", type=int, default=3, help="windows per turn")
    add("--seconds", type=float, default=3.0, help="seconds per window")
    add("--staleness", type=int, default=4, help="steps (%(default)s)")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    add(
        "--sweep",
        action="append",
        choices=list(SWEEPS),
        help="only this sweep; may be given again (default: all)",
    )
    names = tuple(name.upper() for name in Point._fields)
    add("--point", type=int, nargs=4, metavar=names, help="train only this point")
    arguments = parser.parse_args()
    if arguments.write and arguments.sweep:
        parser.error("--write needs all sweeps: give no --sweep")
    if arguments.quick:
        arguments.turns, arguments.windows, arguments.seconds = 1, 1, 0.2
    return arguments


def main() -> None:
    arguments = parse_arguments()
    setup = {
        "staleness": arguments.staleness,
        "windows": arguments.windows,
        "seconds_a_window": arguments.seconds,
        "dim": DIM,
        "cores": os.cpu_count(),
        "load_average_before": round(os.getloadavg()[0], 2),
        "seed": 0,
    }
    if arguments.point:
        point = Point(*arguments.point)
        figures = train(point, arguments)
        setup.update(point._asdict())
    else:
        results = run_sweeps(arguments)
        table = markdown(results)
        print(table)
        if arguments.write:
            write_section("step_cost", f"{_HEADING}\n\n{table}")
        figures = results
        setup["turns"] = arguments.turns
    print(json.dumps({"benchmark": "step_cost", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
