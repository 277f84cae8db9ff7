"""How well plans of groups predict the time of a step, and choose.

    python benchmarks/cost_model_bench.py                  # 2 workers, 1 Gbit/s
    python benchmarks/cost_model_bench.py --workers 4 --mbit 100 --models wide --plans 7

For each model, workers train by several plans in turn: the one that
`ptf.parallel.plan` chooses, the one that divides no layer, and random ones. They are on
machines of their own in a slow network, as in hierarchical_bench.py (needs root).

    plans             how many were measured
    within_15_percent the share of them whose predicted time of a step is within 15 %
                      of the measured one
    worst_error       the greatest |predicted / measured - 1|
    chosen_over_best  the step time of the chosen plan over that of the fastest one that
                      was measured: the greatest of all models

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from typing import Any

from hierarchical_runs import add_options, run
from hierarchical_worker import MODELS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, width=1024)
    add = parser.add_argument
    add("--models", nargs="+", choices=MODELS, default=list(MODELS))
    add("--plans", type=int, default=8, help="of each model (%(default)s)")
    add("--steps", type=int, default=40, help="of each plan (%(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.models = ["narrow"]
        arguments.width, arguments.plans, arguments.steps = 128, 2, 2
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    ratios: list[float] = []
    choices: list[float] = []
    for model in arguments.models:
        runs = run("many", argparse.Namespace(**{**vars(arguments), "model": model}))
        seconds = [statistics.median(each["seconds"]) for each in runs]
        ratios += [each["predicted"] / at for each, at in zip(runs, seconds)]
        choices.append(seconds[0] / min(seconds))
        print(runs[0]["table"], *lines_of(runs, seconds), sep="\n", flush=True)
    errors = [abs(ratio - 1) for ratio in ratios]
    figures = {
        "plans": len(ratios),
        "within_15_percent": sum(error <= 0.15 for error in errors) / len(errors),
        "worst_error": max(errors),
        "chosen_over_best": max(choices),
    }
    for name, figure in figures.items():
        print(f"{name:24} {figure:9.3f}")
    setup = {
        **vars(arguments),
        "cores": os.cpu_count(),
        "load_average_before": round(load, 2),
    }
    said = {"benchmark": "cost_model_bench", "figures": figures, "setup": setup}
    print(json.dumps(said))


def lines_of(runs: Sequence[dict[str, Any]], seconds: Sequence[float]) -> list[str]:
    """Returns a line for each plan: where it divides layers, and its times."""
    return [
        f"{', '.join(axis or 'whole' for axis in each['axes']):56}"
        f" predicted {each['predicted'] * 1e3:7.1f} ms, measured {at * 1e3:7.1f} ms:"
        f" {each['predicted'] / at:.3f}"
        for each, at in zip(runs, seconds)
    ]


if __name__ == "__main__":
    main()
