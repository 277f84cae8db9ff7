"""Runs one of the trainings that accuracy.py compares."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from accuracy_data import DATA_SETS, DataSet, directory_of

SHARDS = 2
# How often each training is evaluated, at equal intervals.
EVALUATIONS = 5
PREDICT_BATCH = 8192
QUICK_ROWS = 4096


class Mode(NamedTuple):
    """How a model is trained.

    Attributes:
        title: The title in reports.
        staleness: The maximal staleness of rows, in steps.
        dense_delay: The number of steps by which dense gradients are late.
        wire_dtype: The dtype in which rows and their gradients travel.
    """

    title: str
    staleness: int
    dense_delay: int
    wire_dtype: str = "float32"


MODES = {
    "sync": Mode("synchronous", 0, 0),
    "hybrid4": Mode("hybrid, staleness 4", 4, 0),
    "hybrid16": Mode("hybrid, staleness 16", 16, 0),
    "async4": Mode("asynchronous dense (simulated delay 4)", 4, 4),
    "async16": Mode("asynchronous dense (simulated delay 16)", 16, 16),
    "int8": Mode("synchronous, rows and gradients as int8", 0, 0, "int8"),
    "int4": Mode("synchronous, rows and gradients as int4", 0, 0, "int4"),
    "hybrid4_int4": Mode("hybrid, staleness 4, as int4", 4, 0, "int4"),
}


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains one model; returns its test AUC at each evaluation, and other figures."""
    import tensorflow as tf
    from shard_processes import running_proxies, running_shards

    import persia_tf as ptf

    [name], mode = arguments.data_set, MODES[arguments.mode]
    data = DATA_SETS[name]
    train_rows, test_rows = _load(name, arguments.seed, arguments.quick)
    steps = data.epochs * (len(train_rows) // data.batch) // EVALUATIONS or 1
    tf.keras.utils.set_random_seed(arguments.seed)
    with running_shards(SHARDS) as shards:
        delay_ms = arguments.delay_ms if mode.staleness else None
        with running_proxies(shards, delay_ms) as addresses:
            cluster = ptf.Cluster(
                addresses, staleness=mode.staleness, wire_dtype=mode.wire_dtype
            )
            model = _model(name, mode, cluster, arguments.seed)
            dataset = train_rows.batches(data.batch, arguments.seed).repeat()
            if mode.staleness:
                dataset = ptf.data.prefetch(dataset, model, staleness=mode.staleness)
            aucs = _fit(model, dataset, steps, test_rows)
            metrics = ptf.metrics()
    return {
        "auc": aucs[-1],
        "aucs": aucs,
        "steps": steps * EVALUATIONS,
        "updates": metrics["updates"],
        "megabytes": (metrics["bytes_in"] + metrics["bytes_out"]) / 1e6,
        "staleness_max": metrics["staleness_max"],
        "staleness_mean": _mean_of(metrics["staleness_histogram"]),
        "rows": [len(train_rows), len(test_rows)],
        "batch": data.batch,
    }


def _load(name: str, seed: int, quick: bool) -> Sequence[Any]:
    """Returns the training and the test table."""
    folder = directory_of(name, os.environ.get("PERSIA_TF_DATA"))
    tables = DATA_SETS[name].load(folder, seed)
    return [table.take(slice(QUICK_ROWS)) for table in tables] if quick else tables


def _model(name: str, mode: Mode, cluster: Any, seed: int) -> Any:
    from common.embeddings import PersiaRows, Settings

    data = DATA_SETS[name]
    settings = Settings(name, data.adagrad, scale=data.scale, seed=seed)
    model = data.build(PersiaRows(settings, cluster))
    model.compile(_dense_optimizer(data, mode), loss="binary_crossentropy")
    return model


def _fit(model: Any, dataset: Any, steps: int, test_rows: Any) -> list[float]:
    """Trains in EVALUATIONS parts of `steps` steps; returns the test AUC after each."""
    import tensorflow as tf
    from common.metrics import roc_auc

    aucs: list[float] = []

    class Evaluate(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            scores = self.model.predict(test_rows.batches(PREDICT_BATCH), verbose=0)
            aucs.append(roc_auc(test_rows.labels, scores[:, 0]))

    model.fit(
        dataset,
        steps_per_epoch=steps,
        epochs=EVALUATIONS,
        shuffle=False,  # The batches are shuffled already.
        verbose=0,
        callbacks=[Evaluate()],
    )
    return aucs


def _dense_optimizer(data: DataSet, mode: Mode) -> Any:
    """Returns the dense part's optimizer: an Adagrad, as for the rows."""
    import tensorflow as tf
    from delayed_gradients import delayed

    adagrad = tf.keras.optimizers.Adagrad
    if mode.dense_delay:
        adagrad = delayed(adagrad, mode.dense_delay)
    return adagrad(**data.adagrad)


def _mean_of(histogram: Sequence[int]) -> float:
    """Returns the mean of the values 0, 1, 2, ..., given how often each occurred."""
    return sum(value * count for value, count in enumerate(histogram)) / sum(histogram)
