"""Groups that divide layers, beside plain data parallelism, in a slow network.

    python benchmarks/hierarchical_bench.py                    # 2 workers, 1 Gbit/s
    python benchmarks/hierarchical_bench.py --workers 4 --mbit 100 --model wide

Each worker is pinned to a core, and is on a machine of its own: a network namespace
that sends at a limited rate (needs root). The sides train the same model in turn:

    plain    `MultiWorkerMirroredStrategy`
    whole    `HierarchicalStrategy`, with a plan in which no layer is divided
    planned  `HierarchicalStrategy`, with the plan that `ptf.parallel.plan` chooses

    planned_over_plain      samples per second of one over those of the other
    planned_over_whole      the same
    predicted_over_measured the step time that the plan predicts, over the measured one

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Sequence

from hierarchical_runs import add_options, run
from hierarchical_worker import MODELS, WAYS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, width=2048)
    add = parser.add_argument
    add("--model", choices=MODELS, default="wide", help="(%(default)s)")
    add("--steps", type=int, default=10, help="of each run (%(default)s)")
    add("--turns", type=int, default=3, help="of each side (%(default)s)")
    add("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.width, arguments.steps, arguments.turns = 128, 2, 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    seconds: dict[str, list[float]] = {way: [] for way in arguments.ways}
    predicted: list[float] = []
    for turn in range(arguments.turns):
        for way in arguments.ways:
            [said] = run(way, arguments)
            seconds[way].append(statistics.median(said["seconds"]))
            if way == "planned":
                predicted.append(said["predicted"])
                print(said["table"], file=sys.stderr, flush=True)
            print(
                f"turn {turn + 1}: {way}: {seconds[way][-1] * 1e3:.1f} ms per step",
                file=sys.stderr,
                flush=True,
            )
    figures = figures_of(seconds, predicted)
    for name, figure in figures.items():
        print(f"{name:24} {figure:9.3f}")
    setup = {
        **vars(arguments),
        "cores": os.cpu_count(),
        "load_average_before": round(load, 2),
    }
    print(
        json.dumps(
            {"benchmark": "hierarchical_bench", "figures": figures, "setup": setup}
        )
    )


def figures_of(
    seconds: dict[str, list[float]], predicted: Sequence[float]
) -> dict[str, float]:
    """Returns the medians over the turns of the ratios of two sides."""
    figures = {
        f"{way}_step_ms": 1e3 * statistics.median(of_way)
        for way, of_way in seconds.items()
    }
    for other in ("plain", "whole"):
        if other in seconds and "planned" in seconds:
            figures[f"planned_over_{other}"] = statistics.median(
                a / b for a, b in zip(seconds[other], seconds["planned"])
            )
    if predicted:
        figures["predicted_over_measured"] = statistics.median(
            a / b for a, b in zip(predicted, seconds["planned"])
        )
    return figures


if __name__ == "__main__":
    main()
