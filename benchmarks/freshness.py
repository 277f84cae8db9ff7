"""How soon updates of training show in the answers of a served model.

    python benchmarks/freshness.py
    python benchmarks/freshness.py --write  # And to RESULTS.md.

One process trains the click model on two shards as fast as possible. Another serves the
model's standalone export, follows the shards with `ptf.serving.Follower`, and calls the
model repeatedly. An additional row with one weight counts the steps: each step's
gradient adds 1 to it. At intervals, the trainer waits until all steps so far are
acknowledged, and records the time. The figures are:

    seconds_p50, _p99, _most  from the acknowledgement of a step to the first answer
                              that includes it; 0 if the answer came first
    steps_per_second          of training, with and without a follower
    equal_rows                the share of the shards' rows that are equal, bit by bit,
                              to the follower's after training

The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
import w1_model
import workload_w1
from native_programs import machine
from results_file import write_section
from shard_processes import running_shards

import persia_tf as ptf
from persia_tf._keras import keras

_FOLLOWER = Path(__file__).absolute().parent / "freshness_follower.py"
WARM_UP_STEPS = 20
# The row that counts steps.
COUNTER = "steps"
COUNTER_ID = 0


class AddsOne(keras.layers.Layer):
    """Makes each step add 1 to the row of its input; its output is zero."""

    def call(self, row: tf.Tensor) -> tf.Tensor:
        self.add_loss(-tf.reduce_mean(row))
        return 0 * row


def with_counter(model: Any, cluster: ptf.Cluster) -> tuple[Any, Any]:
    """Returns the click model with the counter's row, for training and for serving."""
    which = keras.Input(shape=(), dtype="int64", name="which")
    row = ptf.layers.PersiaEmbedding(
        *(1,),
        table=COUNTER,
        embeddings_initializer="zeros",
        optimizer=ptf.optimizers.SGD(1.0),
        cluster=cluster,
    )(which)
    inputs = [*model.inputs, which]
    trained = keras.Model(inputs, model.outputs[0] + AddsOne()(row))
    trained.compile(model.optimizer, model.loss)
    served = {"click": model.outputs[0], COUNTER: row}
    return trained, keras.Model(inputs, served)


class Acknowledgements(keras.callbacks.Callback):
    """Records, at intervals, when all steps so far were acknowledged.

    Attributes:
        noted: Pairs of the number of steps and the time of their acknowledgement, by
            `time.monotonic()`.
    """

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.noted: list[tuple[int, float]] = []
        self._steps = steps
        self._done = 0

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._done += 1
        if self._done % self._steps == 0:
            ptf.flush()
            self.noted.append((self._done, time.monotonic()))


class FollowerProcess:
    """A process that serves an export and follows shards."""

    def __init__(self, export: str, shards: Sequence[str], folder: str) -> None:
        self._rows = os.path.join(folder, "rows.npz")
        self._process = subprocess.Popen(
            [sys.executable, str(_FOLLOWER), export, ",".join(shards), self._rows],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._told()  # Waits until the follower is up to date.

    def stop(self) -> tuple[list[tuple[float, float]], dict[str, Any]]:
        """Waits until the follower has received all updates, and stops it.

        Returns:
            A tuple of two values. The first is a list of pairs: a number of steps, and
            the time at which the follower first answered with the rows of that many
            steps. The second is the follower's final rows, as a dict of arrays.
        """
        self._process.stdin.write("stop\n")
        self._process.stdin.flush()
        seen = self._told()
        return [(steps, at) for steps, at in seen], dict(np.load(self._rows))

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _told(self) -> Any:
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the follower ended: see above")
        return json.loads(line)


def delays(
    acknowledged: Sequence[tuple[int, float]], seen: Sequence[tuple[float, float]]
) -> list[float]:
    """Returns the seconds from each acknowledgement to the first answer with its steps.

    Args:
        acknowledged: Pairs of a number of steps and the time at which that many steps
            were acknowledged; both increase.
        seen: Pairs of a number of steps and the time at which an answer first had the
            rows of that many steps; both increase.
    """
    steps = [count for count, _ in seen]
    return [
        max(0.0, seen[bisect.bisect_left(steps, count)][1] - at)
        for count, at in acknowledged
    ]


def equal_share(tables: dict[str, Any], cluster: ptf.Cluster) -> float:
    """Returns the share of the shards' rows that a follower has, equal bit by bit.

    Args:
        tables: The follower's ids and rows: `NAME/ids` and `NAME/rows` for each table.
        cluster: The cluster of the shards.

    Returns:
        The share. It is also less than 1 if the follower has rows that the shards lack.
    """
    equal = total = 0
    for name in {key.rpartition("/")[0] for key in tables}:
        ids, rows = tables[f"{name}/ids"], tables[f"{name}/rows"]
        order = np.argsort(ids)
        ids, rows = ids[order], rows[order]
        count = 0
        for batch in ptf.Table(name, cluster=cluster).export():
            place = np.searchsorted(ids, batch.ids).clip(max=max(0, len(ids) - 1))
            same = ids[place] == batch.ids
            same &= (rows[place].view("u4") == batch.rows.view("u4")).all(axis=1)
            equal += np.count_nonzero(same)
            count += len(batch.ids)
        total += max(count, len(ids))
    return equal / total


def measure(arguments: argparse.Namespace) -> tuple[dict[str, float], dict[str, Any]]:
    """Trains without and with a follower; returns the figures and the setup."""
    data = workload_w1.load(arguments.batches, arguments.batch)
    with running_shards(arguments.shards) as shards, tempfile.TemporaryDirectory() as f:
        addresses = [shard.address for shard in shards]
        cluster = ptf.Cluster(addresses)
        model = w1_model.make_persia(workload_w1.vocabularies(), cluster)
        trained, served = with_counter(model, cluster)
        counters = np.full(data.labels.shape[:2], COUNTER_ID, np.int64)
        batches = tf.data.Dataset.from_tensor_slices(
            ((data.ids(), data.dense, counters), data.labels)
        )

        def train(steps: int) -> tuple[float, list[tuple[int, float]]]:
            acknowledgements = Acknowledgements(arguments.every)
            begin = time.monotonic()
            trained.fit(
                ptf.data.prefetch(batches.repeat(), trained),
                steps_per_epoch=steps,
                verbose=0,
                callbacks=[acknowledgements],
            )
            return steps / (time.monotonic() - begin), acknowledgements.noted

        train(WARM_UP_STEPS)
        alone, _ = train(arguments.steps)
        before = WARM_UP_STEPS + arguments.steps
        export = ptf.serving.export(served, os.path.join(f, "1"))
        follower = FollowerProcess(export.path, addresses, f)
        try:
            followed, noted = train(arguments.steps)
            ptf.flush()
            seen, rows = follower.stop()
        finally:
            follower.end()
        seconds = delays([(before + steps, at) for steps, at in noted], seen)
        figures = {
            "seconds_p50": float(np.percentile(seconds, 50)),
            "seconds_p99": float(np.percentile(seconds, 99)),
            "seconds_most": max(seconds),
            "steps_per_second": followed,
            "steps_per_second_alone": alone,
            "equal_rows": equal_share(rows, cluster),
        }
        total = sum(len(rows[key]) for key in rows if key.endswith("/ids"))
        return figures, {"acknowledgements": len(seconds), "rows": total}


def markdown(figures: dict[str, float], setup: dict[str, Any]) -> str:
    """Returns the section of RESULTS.md."""
    return f"""
## Freshness of a model that follows

`benchmarks/freshness.py --write`: the time from the acknowledgement of a training step
to the first answer that reflects it. Another process serves a standalone export, and
keeps it up to date with `ptf.serving.Follower`:

| p50 | p99 | most | rows equal at the end | training speed over that without follower |
|---|---|---|---|---|
| {figures["seconds_p50"]:.3f} s | {figures["seconds_p99"]:.3f} s \
| {figures["seconds_most"]:.3f} s | {100 * figures["equal_rows"]:.4g} % \
| {figures["steps_per_second"] / figures["steps_per_second_alone"]:.2f} |

Set-up: {setup["cores"]} cores for trainer, {setup["shards"]} shards and follower; the \
click model, batches of {setup["batch"]},
{figures["steps_per_second"]:.1f} steps a second, {setup["rows"]:,} rows; \
{setup["acknowledgements"]} acknowledgements, one in {setup["every"]} steps.
TensorFlow {setup["tensorflow"]}, Keras {setup["keras"]}. Load average before: \
{setup["load_average_before"]}.
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="only a smoke test")
    add("--steps", type=int, default=1000, help="steps with a follower (%(default)s)")
    add("--every", type=int, default=5, help="steps per measurement (%(default)s)")
    add("--batch", type=int, default=4096, help="(%(default)s)")
    add("--shards", type=int, default=2, help="(%(default)s)")
    add("--write", action="store_true", help="write the table to RESULTS.md")
    arguments = parser.parse_args()
    arguments.batches = 200
    if arguments.quick:
        arguments.steps, arguments.batches, arguments.batch = 50, 20, 256
    return arguments


def main() -> None:
    arguments = parse_arguments()
    load = os.getloadavg()[0]
    figures, measured = measure(arguments)
    names = ("steps", "every", "batch", "shards")
    setup = {
        **{name: getattr(arguments, name) for name in names},
        **measured,
        **w1_model.versions(),
        "load_average_before": round(load, 2),
        "seed": 0,
        **machine(),
    }
    if arguments.write:
        write_section("freshness", markdown(figures, setup))
    print(json.dumps({"benchmark": "freshness", "figures": figures, "setup": setup}))


if __name__ == "__main__":
    main()
