"""Test AUC of hybrid training against synchronous training, on real data.

    PERSIA_TF_DATA=... python benchmarks/accuracy.py --write
    python benchmarks/accuracy.py --data-set adult --seeds 1

Rows are in two shards. Hybrid training prefetches lookups, with a staleness of at most
4 or 16 steps; asynchronous dense training additionally applies dense gradients 4 or 16
steps late. In both, the shards are behind a delaying proxy, and the staleness that
actually occurred is reported. Other trainings send rows and gradients as int8 or int4.
Each training is a process of its own. With --runs, finished trainings are stored in a
file, and a rerun skips them. With --write, benchmarks/RESULTS.md gets a table and a
plot (which needs `pip install '.[bench]'`). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from accuracy_data import DATA_SETS
from accuracy_runs import Runs, versions
from accuracy_training import MODES, SHARDS, train
from turns import run_program


def compare(arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, Any]]]:
    """Trains in the chosen modes; returns the results by data set and mode."""
    done = Runs(arguments.runs)
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for name in arguments.data_set or DATA_SETS:
        runs: dict[str, list[dict[str, Any]]] = {mode: [] for mode in arguments.modes}
        for seed in range(arguments.seeds or DATA_SETS[name].seeds):
            for mode in arguments.modes:
                runs[mode].append(_run(done, arguments, name, mode, seed))
                print(f"{name} {mode} seed {seed}: {runs[mode][-1]}", flush=True)
        results[name] = {
            mode: summary(each, runs["sync"]) for mode, each in runs.items()
        }
    return results


def _run(
    done: Runs, arguments: argparse.Namespace, name: str, mode: str, seed: int
) -> dict[str, Any]:
    figures = done.find(setup_of(arguments, name, mode, seed))
    if figures is None:
        what = ["--data-set", name, "--mode", mode, "--seed", seed]
        what += ["--delay-ms", arguments.delay_ms, *(["--quick"] * arguments.quick)]
        said = run_program("accuracy.py", *what)
        done.add(said)
        figures = said["figures"]
    return figures


def setup_of(
    arguments: argparse.Namespace, name: str, mode: str, seed: int
) -> dict[str, Any]:
    """Returns everything that determines the result of a training."""
    facts = {"data_set": name, "mode": mode, "seed": seed, "quick": arguments.quick}
    return {**facts, **common_setup(arguments)}


def common_setup(arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns what is the same for all trainings."""
    return {
        "shards": SHARDS,
        "delay_ms": arguments.delay_ms,
        "versions": versions(),
    }


def summary(
    runs: Sequence[dict[str, Any]], references: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Returns means over the seeds; differences are between runs of the same seed."""
    aucs = [run["auc"] for run in runs]
    differences = [run["auc"] - other["auc"] for run, other in zip(runs, references)]
    return {
        "auc": statistics.mean(aucs),
        "auc_of_each_seed": aucs,
        "minus_sync": statistics.mean(differences),
        "minus_sync_of_each_seed": differences,
        "staleness_max": max(run["staleness_max"] for run in runs),
        "staleness_mean": statistics.mean(run["staleness_mean"] for run in runs),
        **{fact: runs[0][fact] for fact in ("steps", "rows", "batch")},
        "curve": [statistics.mean(at) for at in zip(*(run["aucs"] for run in runs))],
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--data-set", action="append", choices=DATA_SETS, help="may be repeated")
    modes = ", ".join(MODES)
    add(
        "--modes",
        nargs="+",
        default=list(MODES),
        metavar="MODE",
        choices=MODES,
        help=f"to compare, with sync: {modes} (all)",
    )
    add("--seeds", type=int, help="how many to average over (the data set's)")
    add("--delay-ms", type=float, default=20, help="each way to a shard; sync: none")
    add("--runs", type=Path, help="a file that keeps the results of trainings")
    add("--write", action="store_true", help="write RESULTS.md and its plot")
    one = parser.add_argument_group("options for a single training")
    one.add_argument("--mode", choices=MODES)
    one.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.mode and len(arguments.data_set or ()) != 1:
        parser.error("--mode needs exactly one --data-set")
    if "sync" not in arguments.modes:
        parser.error("--modes needs sync, with which the others are compared")
    if arguments.quick:
        arguments.seeds = 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    if arguments.mode:
        [name] = arguments.data_set
        figures = train(arguments)
        setup = setup_of(arguments, name, arguments.mode, arguments.seed)
    else:
        figures = compare(arguments)
        setup = common_setup(arguments)
        if arguments.write:
            import accuracy_report

            titles = {name: mode.title for name, mode in MODES.items()}
            accuracy_report.write(figures, setup, titles)
    print(json.dumps({"benchmark": "accuracy", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
