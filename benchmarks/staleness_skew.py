"""What stale rows cost, by staleness and by skew, beside what the theory says.

    PERSIA_TF_DATA=... python benchmarks/staleness_skew.py --runs runs.jsonl --write
    python benchmarks/staleness_skew.py --skew 1.0 --rows sgd --seeds 2

Trains a click model whose truth is known on ids that follow a Zipf law, and the models
of accuracy.py on real data. The rows are embedded in the program. Updates of rows are
applied exactly 0, 1, 4, ..., 1024 steps late, by a queue in the model: not by timing,
so the figures do not depend on the machine. Dense weights are trained without a delay.

The cost of staleness is the test loss over that of the same seed without staleness.
Beside it is what the convergence bound of hybrid training predicts from the staleness
and the frequency of the most frequent id, with one fitted constant: see
staleness_bound.py.

With --runs, finished trainings are stored in a file, and a rerun skips them. With
--write, benchmarks/RESULTS.md gets the tables and a plot. The last line is one JSON
object.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import multiprocessing
import os
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

import staleness_bound
from accuracy_runs import Runs, versions
from staleness_bound import Interval, Point
from staleness_training import CLICKS, OPTIMIZERS, REAL, Case, train

STALENESS = (1, 4, 16, 64, 256, 1024)
SKEWS = (0.0, 0.5, 0.8, 1.0, 1.2, 1.5)
_SEEDS = 5
_QUICK = {"staleness": [16, 256], "skew": [0.0, 1.0], "rows": ["sgd"], "seeds": 2}
# The readings of "frequency of the most frequent id" that are compared.
ALPHAS = ("batch", "example", "typical", "none")


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains all cases; returns the costs of staleness, and how well the bound fits."""
    groups = list(_groups(arguments))
    results = run_all(
        [case for group in groups for case in _cases(arguments, group)],
        Runs(arguments.runs),
        arguments.jobs,
    )
    summaries = [
        summary({c: results[c] for c in _cases(arguments, group)}) for group in groups
    ]
    return {"groups": summaries, "fits": fits(summaries)}


def _groups(arguments: argparse.Namespace) -> Iterator[Case]:
    """Yields the first case of each group: those that differ in staleness and seed."""
    first = {"staleness": 0, "seed": 0, "quick": arguments.quick}
    for optimizer in arguments.rows:
        for exponent in arguments.skew:
            yield Case(CLICKS, exponent, optimizer, **first)
    for name in arguments.data_set:
        yield Case(name, None, "adagrad", **first)


def _cases(arguments: argparse.Namespace, group: Case) -> list[Case]:
    return [
        dataclasses.replace(group, staleness=staleness, seed=seed)
        for seed in range(arguments.seeds)
        for staleness in (0, *arguments.staleness)
    ]


def run_all(cases: Sequence[Case], done: Runs, jobs: int) -> dict[Case, dict[str, Any]]:
    """Trains those cases of which there is no result; returns the figures of all.

    Args:
        cases: The trainings.
        done: The finished trainings, which gets the others too.
        jobs: The number of processes that train at the same time. It changes no figure.
    """
    known = {case: done.find(setup_of(case)) for case in cases}
    missing = [case for case, figures in known.items() if figures is None]
    # TensorFlow does not survive a fork.
    context = multiprocessing.get_context("spawn")
    with futures.ProcessPoolExecutor(jobs, context, _use_one_thread) as pool:
        running = {pool.submit(train, case): case for case in missing}
        for number, ended in enumerate(futures.as_completed(running), 1):
            case, figures = running[ended], ended.result()
            known[case] = figures
            done.add({"figures": figures, "setup": setup_of(case)})
            print(f"{number} of {len(missing)}: {told(case, figures)}", flush=True)
    return known


def told(case: Case, figures: Mapping[str, Any]) -> str:
    """Returns a line about a finished training."""
    skew = "" if case.exponent is None else f" skew {case.exponent:g}"
    return (
        f"{case.data_set}{skew} {case.optimizer} staleness {case.staleness} "
        f"seed {case.seed}: loss {figures['loss']:.5f}, AUC {figures['auc']:.5f}"
    )


def _use_one_thread() -> None:
    """Gives each training one thread for its ops, which makes their sums repeatable."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)


def setup_of(case: Case) -> dict[str, Any]:
    """Returns everything that determines the result of a training."""
    rates = dataclasses.asdict(OPTIMIZERS[case.optimizer])
    is_clicks = case.data_set == CLICKS
    return {
        **dataclasses.asdict(case),
        "batch": case.batch,
        "rates": rates if is_clicks else None,
        "versions": versions(),
    }


def summary(runs: Mapping[Case, Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the costs of staleness in a group, over the runs without staleness.

    Args:
        runs: The figures of each case of the group.
    """
    first = next(iter(runs))
    synchronous = {c.seed: runs[c] for c in runs if not c.staleness}
    steps = sorted({c.staleness for c in runs if c.staleness})
    facts = ("loss", "auc", "best_loss", "best_auc")
    return {
        "data_set": first.data_set,
        "exponent": first.exponent,
        "optimizer": first.optimizer,
        "alphas": {
            name: statistics.mean(run["alphas"][name] for run in synchronous.values())
            for name in ALPHAS
        },
        **{
            fact: statistics.mean(run[fact] for run in synchronous.values())
            for fact in facts
            if fact in runs[first]
        },
        **{fact: runs[first][fact] for fact in ("steps", "batch", "rows")},
        "seeds": len(synchronous),
        "costs": [_cost(runs, synchronous, each) for each in steps],
    }


def _cost(
    runs: Mapping[Case, Mapping[str, Any]],
    synchronous: Mapping[int, Mapping[str, Any]],
    staleness: int,
) -> dict[str, Any]:
    """Returns the mean differences from the runs of the same seed, with intervals."""
    late = {c.seed: run for c, run in runs.items() if c.staleness == staleness}
    cost: dict[str, Any] = {"staleness": staleness}
    for fact in ("loss", "auc"):
        differences = [late[seed][fact] - synchronous[seed][fact] for seed in late]
        cost[fact] = staleness_bound.interval(differences)._asdict()
        cost[f"{fact}_of_each_seed"] = differences
    return cost


def fits(groups: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Fits the bound to the click model's costs, for each optimizer and each alpha.

    Only costs whose whole confidence interval is positive count: the logarithm of the
    others would be that of noise. They are counted as `unresolved`.

    Args:
        groups: The summaries.

    Returns:
        By optimizer and by name in `ALPHAS`, the figures of the fit to all skews; and
        in `skews`, for each skew the same of its own costs, and `over_predicted`: the
        measured costs over those predicted with the constant of all skews, as a
        geometric mean. Nothing for an optimizer without any such cost.
    """
    found: dict[str, dict[str, Any]] = {}
    for optimizer in OPTIMIZERS:
        of_clicks = [
            group
            for group in groups
            if (group["data_set"], group["optimizer"]) == (CLICKS, optimizer)
        ]
        by_alpha = {name: _fit(of_clicks, name) for name in ALPHAS}
        if all(by_alpha.values()):
            found[optimizer] = by_alpha
    return found


def _fit(groups: Sequence[Mapping[str, Any]], alpha: str) -> dict[str, Any] | None:
    of_skews = {str(group["exponent"]): points(group, alpha) for group in groups}
    together = [point for each in of_skews.values() for point in each]
    fit = staleness_bound.fit(together)
    if fit is None:
        return None
    skews = {}
    for skew, each in of_skews.items():
        own = staleness_bound.fit(each)
        if own is not None:
            over = own.constant / fit.constant
            skews[skew] = {**own.figures(), "over_predicted": over}
    costs = sum(len(group["costs"]) for group in groups)
    unresolved = costs - len(together)
    return {**fit.figures(), "unresolved": unresolved, "skews": skews}


def points(group: Mapping[str, Any], alpha: str) -> list[Point]:
    """Returns the costs of a group whose intervals are positive.

    Args:
        group: The summary of the group.
        alpha: A name in `ALPHAS`.
    """
    return [
        Point(
            cost["staleness"],
            group["alphas"][alpha],
            group["steps"],
            cost["loss"]["mean"],
        )
        for cost in group["costs"]
        if Interval(**cost["loss"]).is_positive
    ]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--staleness", action="append", type=int, help="may be repeated (all)")
    add("--skew", action="append", type=float, help="Zipf exponent; may be repeated")
    add("--rows", action="append", choices=OPTIMIZERS, help="their optimizer (all)")
    add("--data-set", action="append", choices=[*REAL, "none"], help="real data (all)")
    add("--seeds", type=int, help=f"how many to average over ({_SEEDS})")
    add("--jobs", type=int, default=os.cpu_count(), help="processes (%(default)s)")
    add("--runs", type=Path, help="a file that keeps the results of trainings")
    add("--write", action="store_true", help="write RESULTS.md and its plot")
    arguments = parser.parse_args()
    _add_defaults(arguments)
    return arguments


def _add_defaults(arguments: argparse.Namespace) -> None:
    has_data = bool(os.environ.get("PERSIA_TF_DATA")) and not arguments.quick
    if not (has_data or arguments.data_set or arguments.quick):
        print("no real data: PERSIA_TF_DATA names none", file=sys.stderr)
    defaults = {
        "staleness": list(STALENESS),
        "skew": list(SKEWS),
        "rows": list(OPTIMIZERS),
        "data_set": list(REAL) if has_data else [],
        "seeds": _SEEDS,
        **(_QUICK if arguments.quick else {}),
    }
    for name, default in defaults.items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    arguments.data_set = [name for name in arguments.data_set if name != "none"]


def main() -> None:
    arguments = parse_arguments()
    figures = compare(arguments)
    rates = {name: dataclasses.asdict(each) for name, each in OPTIMIZERS.items()}
    setup = {"optimizers": rates, "seeds": arguments.seeds, "versions": versions()}
    import staleness_report

    print(staleness_report.text(figures, setup))
    if arguments.write:
        staleness_report.write(figures, setup)
    print(
        json.dumps({"benchmark": "staleness_skew", "figures": figures, "setup": setup})
    )


if __name__ == "__main__":
    main()
