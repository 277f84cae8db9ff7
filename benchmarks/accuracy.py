"""Test AUC of hybrid training against synchronous training, on real data.

    PERSIA_TF_DATA=... python benchmarks/accuracy.py --write
    python benchmarks/accuracy.py --data-set adult --seeds 1

Rows in two shards. Hybrid training runs lookups ahead, with at most 4 or 16 steps
between a lookup and its update; the shards stand behind a delaying proxy then, so that
steps are really stale: the staleness that was met is told. Each training is a process
of its own. With --write, benchmarks/RESULTS.md gets a table and a plot (which needs
`pip install '.[bench]'`). The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from typing import Any, NamedTuple

from accuracy_data import DATA_SETS, directory_of
from turns import run_program

SHARDS = 2
# Each training is evaluated so many times, at equal distances.
EVALUATIONS = 5
PREDICT_BATCH = 8192
QUICK_ROWS = 4096


class Mode(NamedTuple):
    """How a model is trained."""

    title: str
    staleness: int
    prefetch: bool


MODES = {
    "sync": Mode("synchronous", 0, False),
    "hybrid4": Mode("hybrid, staleness 4", 4, True),
    "hybrid16": Mode("hybrid, staleness 16", 16, True),
}


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains one model; returns its test AUC, and at each evaluation."""
    import tensorflow as tf
    from common.embeddings import PersiaRows, Settings
    from common.metrics import roc_auc
    from shard_processes import running_proxies, running_shards

    import persia_tf as ptf

    name, mode = arguments.data_set[0], MODES[arguments.mode]
    data = DATA_SETS[name]
    folder = directory_of(name, os.environ.get("PERSIA_TF_DATA"))
    train_rows, test_rows = data.load(folder, arguments.seed)
    if arguments.quick:
        train_rows, test_rows = (
            rows.take(slice(QUICK_ROWS)) for rows in (train_rows, test_rows)
        )
    tf.keras.utils.set_random_seed(arguments.seed)
    settings = Settings(name, data.adagrad, scale=data.scale, seed=arguments.seed)
    aucs: list[float] = []

    class Evaluate(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            scores = self.model.predict(test_rows.batches(PREDICT_BATCH), verbose=0)
            aucs.append(roc_auc(test_rows.labels, scores[:, 0]))

    with running_shards(SHARDS) as shards:
        delay_ms = arguments.delay_ms if mode.staleness else 0
        with running_proxies(shards, delay_ms) as addresses:
            cluster = ptf.Cluster(addresses, staleness=mode.staleness)
            model = data.build(PersiaRows(settings, cluster))
            model.compile(
                optimizer=tf.keras.optimizers.Adagrad(**data.adagrad),
                loss="binary_crossentropy",
            )
            batches = train_rows.batches(data.batch, shuffle_seed=arguments.seed)
            steps = max(EVALUATIONS, data.epochs * (len(train_rows) // data.batch))
            dataset = batches.repeat()
            if mode.prefetch:
                dataset = ptf.data.prefetch(dataset, model, staleness=mode.staleness)
            model.fit(
                dataset,
                steps_per_epoch=steps // EVALUATIONS,
                epochs=EVALUATIONS,
                shuffle=False,  # The batches are shuffled already.
                verbose=0,
                callbacks=[Evaluate()],
            )
            staleness = ptf.metrics()["staleness_max"]
    return {"auc": aucs[-1], "aucs": aucs, "staleness_met": staleness, "steps": steps}


def compare(arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, Any]]]:
    """Trains in every mode with every seed; results by data set and mode."""
    options = ["--delay-ms", arguments.delay_ms, *(["--quick"] * arguments.quick)]
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for name in arguments.data_set or DATA_SETS:
        runs: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
        for seed in range(arguments.seeds):
            for mode in MODES:
                what = ["--data-set", name, "--mode", mode, "--seed", seed]
                runs[mode].append(
                    run_program("accuracy.py", *options, *what)["figures"]
                )
                print(f"{name} {mode} seed {seed}: {runs[mode][-1]}", flush=True)
        results[name] = {mode: _summary(runs[mode], runs["sync"]) for mode in MODES}
    return results


def _summary(
    runs: list[dict[str, Any]], references: list[dict[str, Any]]
) -> dict[str, Any]:
    """Means over the seeds; each seed is compared with itself."""
    differences = [run["auc"] - other["auc"] for run, other in zip(runs, references)]
    return {
        "auc": statistics.mean(run["auc"] for run in runs),
        "minus_sync": statistics.mean(differences),
        "minus_sync_of_each_seed": differences,
        "staleness_met": max(run["staleness_met"] for run in runs),
        "steps": runs[0]["steps"],
        "curve": [statistics.mean(at) for at in zip(*(run["aucs"] for run in runs))],
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="a smoke test's size")
    add("--data-set", action="append", choices=DATA_SETS, help="may be repeated")
    add("--seeds", type=int, default=3, help="of which the mean is taken")
    add("--delay-ms", type=float, default=20, help="of each way to a shard, if hybrid")
    add("--write", action="store_true", help="write RESULTS.md and its plot")
    one = parser.add_argument_group("one training only, of one data set")
    one.add_argument("--mode", choices=MODES)
    one.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.mode and len(arguments.data_set or ()) != 1:
        parser.error("--mode goes with one --data-set")
    if arguments.quick:
        arguments.seeds = 1
    return arguments


def main() -> None:
    arguments = parse_arguments()
    setup: dict[str, Any] = {"shards": SHARDS, "delay_ms": arguments.delay_ms}
    if arguments.mode:
        figures = train(arguments)
        setup.update(mode=arguments.mode, seed=arguments.seed)
    else:
        figures = compare(arguments)
        setup.update(seeds=arguments.seeds)
        if arguments.write:
            import accuracy_report

            titles = {name: mode.title for name, mode in MODES.items()}
            accuracy_report.write(figures, setup, titles)
    print(json.dumps({"benchmark": "accuracy", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
