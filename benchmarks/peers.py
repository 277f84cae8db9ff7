"""The click model (W1) in this library and in its peers, beside each other.

    python benchmarks/peers.py
    python benchmarks/peers.py --quick               # Minutes; small tables.
    python benchmarks/peers.py --only persia --only pytorch

    persia            this library: a trainer, and two shards
    keras             Keras's own Embedding, in one process
    tf_keras          the same with tf_keras, whose sparse updates take less time
    parameter_server  TensorFlow's ParameterServerStrategy: a coordinator, a worker, and
                      two parameter servers
    tfra              TensorFlow Recommenders Addons: dynamic embeddings, in one process
    pytorch           PyTorch: an Embedding with sparse gradients, in one process

All sides train the same model on the same batches with the same optimizers, and take
turns, A B A B, each turn in new processes. tfra and pytorch run in environments of
their own, which peer_environments.py makes once and which need PyPI. A side that cannot
be run, or whose loss does not fall, has a reason instead of figures, and the others go
on. The figures of a side are medians over its turns:

    samples_per_second   in steady state
    over_persia          samples per second, over those of this library
    peak_memory_mb       of all its processes together
    cpu_seconds          of all its processes, in the windows of a turn
    cpu_us_per_sample    the same per sample, in microseconds, which other work on the
                         machine affects least
    first_loss           the mean loss of the first ten steps
    last_loss            the mean loss of the last ten steps
    versions             those of its packages

The last line is one JSON object. The status is 1 if this library has no figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import workload_w1
from peer_environments import REQUIREMENTS
from peer_runs import Result, Side, SideFailed, run_side

_TENSORFLOW = ("tensorflow", "keras")
SIDES = {
    "persia": Side(
        "persia_tf, two shards",
        ("train_throughput.py", "--embedding", "persia-remote", "--shards", "2"),
        ("persia_tf", *_TENSORFLOW),
    ),
    "keras": Side(
        "Keras's Embedding",
        ("train_throughput.py", "--embedding", "keras3"),
        _TENSORFLOW,
    ),
    "tf_keras": Side(
        "tf_keras's Embedding",
        ("train_throughput.py", "--embedding", "tf_keras"),
        ("tensorflow", "tf_keras"),
    ),
    "parameter_server": Side(
        "ParameterServerStrategy, two servers",
        ("peers/parameter_server.py",),
        ("tensorflow", "tf_keras"),
    ),
    "tfra": Side(
        "TensorFlow Recommenders Addons",
        ("peers/tfra.py",),
        ("tensorflow-recommenders-addons", "tensorflow", "tf_keras"),
        REQUIREMENTS["tfra"],
    ),
    "pytorch": Side(
        "PyTorch", ("peers/pytorch.py",), ("torch",), REQUIREMENTS["pytorch"]
    ),
}
_MEDIANS = (
    *("samples_per_second", "peak_memory_mb", "cpu_seconds", "cpu_us_per_sample"),
    *("first_loss", "last_loss"),
)
# Of the ids of all features together.
_QUICK_ROWS = 500_000


def run_in_turn(
    sides: Mapping[str, Side],
    options: Sequence[object],
    turns: int,
    most_seconds: float,
) -> tuple[dict[str, list[Result]], dict[str, str]]:
    """Runs all sides, A B A B ...; a side that has failed has no further turn.

    Args:
        sides: The sides, by name.
        options: The options that all sides get.
        turns: The turns of each side.
        most_seconds: The time after which a turn has failed.

    Returns:
        The results of each side that did not fail, and the reason of each that did.
    """
    said: dict[str, list[Result]] = {name: [] for name in sides}
    reasons: dict[str, str] = {}
    for turn in range(turns):
        for name, side in sides.items():
            if name in reasons:
                continue
            try:
                said[name].append(run_side(name, side, options, most_seconds))
                shown: object = said[name][-1]["figures"]
            except SideFailed as failed:
                reasons[name] = str(failed)
                shown = f"could not be shown here: {failed}"
                del said[name]
            print(f"turn {turn + 1}: {name}: {shown}", file=sys.stderr, flush=True)
    return said, reasons


def figures_of(
    sides: Mapping[str, Side],
    said: Mapping[str, Sequence[Result]],
    reasons: Mapping[str, str],
) -> dict[str, dict[str, Any]]:
    """Returns the figures of each side, or the reason why there are none."""
    figures: dict[str, dict[str, Any]] = {}
    for name, side in sides.items():
        figures[name] = {"title": side.title}
        if name in reasons:
            figures[name]["reason"] = reasons[name]
            continue
        turns = [with_all_memory(turn["figures"]) for turn in said[name]]
        for figure in _MEDIANS:
            figures[name][figure] = statistics.median(turn[figure] for turn in turns)
        setup = said[name][0]["setup"]
        figures[name]["versions"] = {of: setup[of] for of in side.packages}
    base = figures.get("persia", {}).get("samples_per_second")
    for of_side in figures.values():
        if base and "samples_per_second" in of_side:
            of_side["over_persia"] = of_side["samples_per_second"] / base
    return figures


def with_all_memory(figures: Mapping[str, float]) -> dict[str, float]:
    """Returns a turn's figures, with the peak memory of all processes added up."""
    memory = [of for name, of in figures.items() if name.startswith("peak_memory_mb")]
    return {**figures, "peak_memory_mb": sum(memory)}


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--only", action="append", choices=SIDES, help="sides; may be repeated")
    add("--turns", type=int, default=3, help="turns of each side")
    add("--windows", type=int, default=4, help="windows per turn")
    add("--seconds", type=float, default=6.0, help="seconds per window")
    add("--batch", type=int, default=workload_w1.BATCH)
    add("--batches", type=int, default=200, help="batches in memory, cycled")
    add("--rows", type=int, default=workload_w1.TOTAL_ROWS, help="of all features")
    add("--most-seconds", type=float, default=900.0, help="after which a turn failed")
    add("--quick", action="store_true", help="only a smoke test")
    arguments = parser.parse_args(given)
    if arguments.quick:
        arguments.turns, arguments.windows, arguments.seconds = 1, 2, 1.0
        arguments.batches, arguments.rows = 20, _QUICK_ROWS
    return arguments


def main() -> int:
    arguments = parse_arguments()
    sides = {name: SIDES[name] for name in arguments.only or SIDES}
    options: list[object] = []
    for option in ("windows", "seconds", "batch", "batches", "rows"):
        options += [f"--{option}", getattr(arguments, option)]
    # Made here once, so that no side's turn takes the time to draw it.
    workload_w1.load(arguments.batches, arguments.batch, arguments.rows)
    load = os.getloadavg()[0]
    said, reasons = run_in_turn(sides, options, arguments.turns, arguments.most_seconds)
    figures = figures_of(sides, said, reasons)
    setup = {
        **{name: of for name, of in vars(arguments).items() if name != "only"},
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "seed": 0,
        # Load by other programs: about 0 on an otherwise idle machine.
        "load_average_before": round(load, 2),
        "sides": said,
    }
    print(json.dumps({"benchmark": "peers", "figures": figures, "setup": setup}))
    return 1 if "persia" in reasons else 0


if __name__ == "__main__":
    sys.exit(main())
