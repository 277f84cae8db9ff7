"""How well plans of groups predict the time of a step, and choose.

    python benchmarks/cost_model_bench.py                  # 2 workers, 1 Gbit/s
    python benchmarks/cost_model_bench.py --workers 4 --mbit 100 --models wide --plans 7

For each model, workers train by several plans in turn: the one that
`ptf.parallel.plan` chooses, the one that divides no layer, and random ones. They are on
machines of their own in a slow network, as in hierarchical_bench.py (needs root).

In each turn, new processes make the plans anew, and measure them. Steps of some
milliseconds take up to a fifth longer in one process than in the next, and so do the
exchanges from which predictions follow. So figures are of the medians over the turns,
and the same figures of single turns are beside them.

    plans             how many were measured
    within_15_percent the share of them whose predicted time of a step is within 15 %
                      of the measured one
    worst_error       the greatest |predicted / measured - 1|
    chosen_over_best  the step time of the chosen plan over that of the fastest one that
                      was measured: the greatest of all models
    single_within_15_percent, single_worst_error
                      the same, if each turn counts for itself

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import statistics
from collections.abc import Mapping, Sequence

from hierarchical_runs import add_options, run
from hierarchical_worker import MODELS


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_options(parser, width=1024)
    add = parser.add_argument
    add("--models", nargs="+", choices=MODELS, default=list(MODELS))
    add("--plans", type=int, default=8, help="of each model (%(default)s)")
    add("--turns", type=int, default=3, help="plannings of each model (%(default)s)")
    add("--steps", type=int, default=40, help="of each plan (%(default)s)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.models = ["narrow"]
        arguments.width, arguments.plans, arguments.steps = 128, 2, 2
        arguments.turns = 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    results = {model: measure(arguments, model) for model in arguments.models}
    medians = [each.medians() for of in results.values() for each in of.values()]
    singles = [
        pair
        for of in results.values()
        for each in of.values()
        for pair in zip(each.predicted, each.seconds)
    ]
    figures = {
        "plans": len(medians),
        **errors_of(medians),
        "chosen_over_best": max(map(chosen_over_best, results.values())),
        **{f"single_{name}": figure for name, figure in errors_of(singles).items()},
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


class Measured:
    """What the turns said about a plan.

    Attributes:
        predicted: The seconds of a step that were predicted in each turn.
        seconds: Those that were measured: the median step of each turn.
        is_chosen: In how many turns the plan was the one that was chosen.
    """

    def __init__(self) -> None:
        self.predicted: list[float] = []
        self.seconds: list[float] = []
        self.is_chosen = 0

    def medians(self) -> tuple[float, float]:
        """Returns the medians of the predictions and of the measurements."""
        return statistics.median(self.predicted), statistics.median(self.seconds)


def measure(
    arguments: argparse.Namespace, model: str
) -> dict[tuple[str, ...], Measured]:
    """Plans and measures a model in several turns; returns the results by plan."""
    results: dict[tuple[str, ...], Measured] = collections.defaultdict(Measured)
    options = argparse.Namespace(**{**vars(arguments), "model": model})
    for _ in range(arguments.turns):
        runs = run("many", options)
        print(runs[0]["table"], flush=True)
        for place, each in enumerate(runs):
            result = results[tuple(axis or "whole" for axis in each["axes"])]
            result.predicted.append(each["predicted"])
            result.seconds.append(statistics.median(each["seconds"]))
            result.is_chosen += place == 0
    print(*lines_of(results), sep="\n", flush=True)
    return results


def errors_of(pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Returns how far predictions are from measurements."""
    errors = [abs(predicted / seconds - 1) for predicted, seconds in pairs]
    return {
        "within_15_percent": sum(error <= 0.15 for error in errors) / len(errors),
        "worst_error": max(errors),
    }


def chosen_over_best(results: Mapping[tuple[str, ...], Measured]) -> float:
    """Returns the step time of the plan most often chosen over the least one."""
    chosen = max(results.values(), key=lambda each: each.is_chosen)
    best = min(each.medians()[1] for each in results.values())
    return chosen.medians()[1] / best


def lines_of(results: Mapping[tuple[str, ...], Measured]) -> list[str]:
    """Returns a line for each plan: where it divides layers, and its times."""
    lines = []
    for axes, each in results.items():
        predicted, seconds = each.medians()
        lines.append(
            f"{', '.join(axes):56} predicted {predicted * 1e3:7.1f} ms, "
            f"measured {seconds * 1e3:7.1f} ms: {predicted / seconds:.3f}"
        )
    return lines


if __name__ == "__main__":
    main()
