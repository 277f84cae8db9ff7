"""Test AUC of training with encoded exchanges against float32, on real data.

    PERSIA_TF_DATA=... python benchmarks/encoded_accuracy.py --runs runs.jsonl
    python benchmarks/encoded_accuracy.py --data-set adult --mode int8 --seeds 1

Two workers under `ptf.distribute.HierarchicalStrategy` train the models of accuracy.py
with a wider network, synchronously in rows and dense weights. Its first layer is whole
on each worker, so its gradients are summed; the next two layers are divided, so their
activations are exchanged. All modes have the same seeds and batches: they differ in the
encodings of gradients and activations alone.

    minus_none       the AUC less that of float32 with the same seed: the mean
    worst            the same: of the seed with the greatest magnitude
    between_seeds    the standard deviation of float32's AUC over the seeds

A pair of processes trains in all modes, with a shard without rows for each. With
--runs, finished trainings are stored in a file, and a rerun skips them. The last line
is one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from accuracy_data import DATA_SETS
from accuracy_runs import Runs, versions
from encoded_training import AXES, HIDDEN, MODES, WORKERS
from shard_processes import running_shards
from tf_config import environment_of_worker

from persia_tf.processes.free_ports import free_ports

_WORKER = Path(__file__).absolute().parent / "encoded_training.py"
_END_SECONDS = 60
_SEEDS = 3
_QUICK_MODES = ("none", "threshold_all")


def compare(arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, Any]]]:
    """Trains in all modes with all seeds; returns the results by data set and mode."""
    done = Runs(arguments.runs)
    results = {}
    for name in arguments.data_set:
        runs = [
            _of_all_modes(done, arguments, name, seed)
            for seed in range(arguments.seeds)
        ]
        references = [of_seed["none"] for of_seed in runs]
        results[name] = {
            mode: summary([of_seed[mode] for of_seed in runs], references)
            for mode in arguments.mode
        }
    return results


def _of_all_modes(
    done: Runs, arguments: argparse.Namespace, name: str, seed: int
) -> dict[str, dict[str, Any]]:
    """Trains in the modes of which the file has no result; returns those of all."""
    setups = {
        mode: setup_of(name, mode, seed, arguments.quick) for mode in arguments.mode
    }
    missing = [mode for mode in setups if done.find(setups[mode]) is None]
    if missing:
        for mode, figures in train(name, missing, seed, arguments.quick):
            print(
                f"{name} {mode} seed {seed}: AUC {figures['auc']:.5f}",
                file=sys.stderr,
                flush=True,
            )
            done.add({"figures": figures, "setup": setups[mode]})
    return {mode: done.find(setups[mode]) or {} for mode in setups}


def train(
    name: str, modes: Sequence[str], seed: int, quick: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Trains with workers in processes of their own, in one mode after the other.

    Args:
        name: The data set's name.
        modes: The names of the modes.
        seed: The seed of weights, rows and batches.
        quick: Whether to train on a few rows only.

    Yields:
        A mode and its figures, when its training ends.

    Raises:
        SystemExit: if a worker fails, with what it printed.
    """
    with contextlib.ExitStack() as stack:
        shards = stack.enter_context(running_shards(len(modes)))
        options = ["--data-set", name, "--seed", str(seed), *["--quick"] * quick]
        options += ["--modes", *modes, "--shards", *(each.address for each in shards)]
        addresses = [f"127.0.0.1:{port}" for port in free_ports(WORKERS)]
        workers = [
            stack.enter_context(_running(index, addresses, options))
            for index in range(WORKERS)
        ]
        output = workers[0].process.stdout
        assert output is not None
        for line in output:
            said = json.loads(line)
            yield said["mode"], said["figures"]
        for worker in workers:
            if worker.process.wait(_END_SECONDS):
                raise SystemExit(f"a worker failed: {worker.errors.read_text()}")


class _Worker(NamedTuple):
    process: subprocess.Popen[str]
    errors: Path


@contextlib.contextmanager
def _running(
    index: int, addresses: Sequence[str], options: Sequence[str]
) -> Iterator[_Worker]:
    core = index % (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "errors"
        with errors.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, str(_WORKER), "--core", str(core), *options],
                env=environment_of_worker(index, {"worker": addresses}),
                stdout=subprocess.PIPE if index == 0 else subprocess.DEVNULL,
                stderr=file,
                text=True,
            )
        try:
            yield _Worker(process, errors)
        finally:
            process.kill()
            process.wait()


def setup_of(name: str, mode: str, seed: int, quick: bool) -> dict[str, Any]:
    """Returns everything that determines the result of a training.

    It has only values that are the same once they were written and read as JSON.
    """
    facts = {"data_set": name, "mode": mode, "seed": seed, "quick": quick}
    _, gradients, activations = MODES[mode]
    encodings = {
        "gradients": gradients and list(gradients),
        "activations": activations and list(activations),
    }
    return {**facts, **encodings, **common_setup()}


def common_setup() -> dict[str, Any]:
    """Returns what is the same for all trainings."""
    return {
        "workers": WORKERS,
        "hidden": list(HIDDEN),
        "axes": list(AXES),
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
        "minus_none": statistics.mean(differences),
        "minus_none_of_each_seed": differences,
        "worst": max(differences, key=abs),
        "between_seeds": statistics.stdev(aucs) if len(aucs) > 1 else 0.0,
        "step_ms": statistics.median(run["step_ms"] for run in runs),
        **{fact: runs[0][fact] for fact in ("steps", "rows", "batch")},
    }


def table(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """Returns the results as a table with a line per data set and mode."""
    lines = [f"{'data set':10} {'mode':18} {'AUC':>8} {'minus none':>11} {'worst':>9}"]
    lines += [
        f"{name:10} {mode:18} {of['auc']:8.5f} {of['minus_none']:+11.5f} "
        f"{of['worst']:+9.5f}"
        for name, by_mode in results.items()
        for mode, of in by_mode.items()
    ]
    return "\n".join(lines)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--data-set", action="append", choices=DATA_SETS, help="may be repeated (all)")
    add("--mode", action="append", choices=MODES, help="may be repeated (all)")
    add("--seeds", type=int, default=_SEEDS, help="to average over (%(default)s)")
    add("--runs", type=Path, help="a file that keeps the results of trainings")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.seeds = 1
        arguments.data_set = arguments.data_set or ["adult"]
        arguments.mode = arguments.mode or list(_QUICK_MODES)
    arguments.data_set = arguments.data_set or list(DATA_SETS)
    # All differences are from "none", so it comes first.
    arguments.mode = list(dict.fromkeys(["none", *(arguments.mode or MODES)]))
    return arguments


def main() -> None:
    arguments = parse_arguments()
    figures = compare(arguments)
    print(table(figures))
    setup = {**common_setup(), "seeds": arguments.seeds}
    print(
        json.dumps(
            {"benchmark": "encoded_accuracy", "figures": figures, "setup": setup}
        )
    )


if __name__ == "__main__":
    main()
