"""How much faster asynchronous training with prefetched lookups is.

    python benchmarks/hybrid_bench.py
    python benchmarks/hybrid_bench.py --only hybrid_over_sync_10ms

Each figure is a ratio between two setups that run alternately, each in its own
processes (train_throughput.py and rows_over_redis.py describe the measurements). Unless
noted, the ratio is of samples per second:

    remote_over_tf_keras     W1, rows in two shards, over tf_keras's own tables
    remote_over_keras3       the same over Keras 3's tables
    embedded_over_tf_keras   W1, rows in the program, over tf_keras's tables
    remote_over_dense_only   W1, rows in two shards, over the same dense part on vectors
                             that are ready, without embeddings
    embedded_over_dense_only the same with rows in the program
    remote_over_ready        W1, rows in two shards, over the same dense part on vectors
                             that are ready, whose gradient is computed as well
    embedded_over_ready      the same with rows in the program
    joined_over_layers       W1, rows in two shards, with one PersiaEmbeddings, as in
                             all other figures, over one PersiaEmbedding per feature
    columns_over_layers      the same with one PersiaEmbedding and table for the ids of
                             all features, over one PersiaEmbedding per feature
    hybrid_over_sync_10ms    shards 10 ms away each way, batch 512: hybrid over
                             synchronous training (staleness 0 without prefetch)
    hybrid_hides_10ms        hybrid with these distant shards, over hybrid with shards
                             behind the same proxies without a delay
    rows_over_redis          W2: rows per second of the lookup service over Redis's
    wire_bytes_over_naive    bytes per step on the wire in float16, over the computed
                             number of bytes in float32 with all duplicates

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

import workload_w1
from turns import in_turn, median, run_program

TRAIN = "train_throughput.py"
DELAY_MS = 10
DELAYED_BATCH = 512
REMOTE = ("--embedding", "persia-remote", "--shards", 2)
SIDES = {
    "remote": REMOTE,
    "embedded": ("--embedding", "persia-embedded"),
    "tf_keras": ("--embedding", "tf_keras"),
    "keras3": ("--embedding", "keras3"),
    "dense_only": ("--embedding", "none"),
    "ready": ("--embedding", "ready"),
    "layers": (*REMOTE, "--layers", "separate"),
    "columns": (*REMOTE, "--layers", "columns"),
}
Figure = tuple[float, dict[str, Any]]  # The value, and what it is computed from.


def over(numerator: str, denominator: str, sides: dict[str, Any], turns: int) -> Figure:
    """Returns the samples per second of one side over those of another."""
    said = in_turn(
        TRAIN, {name: sides[name] for name in (numerator, denominator)}, turns
    )
    rates = {name: median(said[name], "samples_per_second") for name in said}
    return rates[numerator] / rates[denominator], said


def delayed_sides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns hybrid sides with near and distant shards, and a synchronous one."""
    batch = (*REMOTE, "--batch", DELAYED_BATCH)
    # Both sides have proxies, since a proxy takes processor time from the trainer.
    near = (*batch, "--delay-ms", 0)
    far = (*batch, "--delay-ms", DELAY_MS)
    hybrid = ("--staleness", arguments.delayed_staleness)
    return {
        "hybrid_near": (*near, *hybrid),
        "hybrid_far": (*far, *hybrid),
        "sync_far": (*far, "--staleness", 0, "--no-prefetch"),
    }


def rows_over_redis(arguments: argparse.Namespace) -> Figure:
    """Returns the figure that rows_over_redis.py measures."""
    said = run_program("rows_over_redis.py", *(["--quick"] * arguments.quick))
    return said["figures"]["rows_over_redis"], said


def wire_bytes_over_naive(sides: dict[str, Any]) -> Figure:
    """Returns the bytes of a W1 step on the wire, over those of a naive protocol."""
    said = run_program(TRAIN, *sides["remote"], "--wire-dtype", "float16")
    figures = said["figures"]
    real = figures["bytes_out_per_step"] + figures["bytes_in_per_step"]
    ids = said["setup"]["batch"] * workload_w1.FEATURES
    # Lookups send an id and a row; updates send an id and a gradient.
    naive = ids * 2 * (8 + 4 * workload_w1.DIM)
    return real / naive, {**said, "naive_bytes_per_step": naive}


def measure(name: str, arguments: argparse.Namespace) -> Figure:
    """Returns the figure of this name, and what it is computed from."""
    sides = {**SIDES, **delayed_sides(arguments)}
    windows = ["--windows", arguments.windows, "--seconds", arguments.seconds]
    options = [*windows, *(["--quick"] * arguments.quick)]
    sides = {side: (*of_side, *options) for side, of_side in sides.items()}
    ratios = {
        "remote_over_tf_keras": ("remote", "tf_keras"),
        "remote_over_keras3": ("remote", "keras3"),
        "embedded_over_tf_keras": ("embedded", "tf_keras"),
        "remote_over_dense_only": ("remote", "dense_only"),
        "embedded_over_dense_only": ("embedded", "dense_only"),
        "remote_over_ready": ("remote", "ready"),
        "embedded_over_ready": ("embedded", "ready"),
        "joined_over_layers": ("remote", "layers"),
        "columns_over_layers": ("columns", "layers"),
        "hybrid_over_sync_10ms": ("hybrid_far", "sync_far"),
        "hybrid_hides_10ms": ("hybrid_far", "hybrid_near"),
    }
    if name in ratios:
        return over(*ratios[name], sides, arguments.turns)
    if name == "rows_over_redis":
        return rows_over_redis(arguments)
    return wire_bytes_over_naive(sides)


FIGURES = (
    "remote_over_tf_keras",
    "remote_over_keras3",
    "embedded_over_tf_keras",
    "remote_over_dense_only",
    "embedded_over_dense_only",
    "remote_over_ready",
    "embedded_over_ready",
    "joined_over_layers",
    "columns_over_layers",
    "hybrid_over_sync_10ms",
    "hybrid_hides_10ms",
    "rows_over_redis",
    "wire_bytes_over_naive",
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", action="append", choices=FIGURES, help="figures; may be repeated")
    add("--quick", action="store_true", help="only a smoke test")
    add("--turns", type=int, default=3, help="turns of each side")
    add("--windows", type=int, default=4, help="windows per turn")
    add("--seconds", type=float, default=6.0, help="seconds per window")
    add(
        "--delayed-staleness",
        type=int,
        default=16,
        help="steps by which hybrid training with distant shards may be stale; more "
        "steps should not be faster (%(default)s)",
    )
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns = 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    figures, sides = {}, {}
    load = os.getloadavg()[0]
    for name in arguments.only or FIGURES:
        figures[name], sides[name] = measure(name, arguments)
        print(f"{name:24} {figures[name]:8.3f}", flush=True)
    setup = {
        "turns": arguments.turns,
        "delayed_staleness": arguments.delayed_staleness,
        "cores": os.cpu_count(),
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        "sides": sides,
    }
    print(json.dumps({"benchmark": "hybrid", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
