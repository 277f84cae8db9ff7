"""One worker of worker_scaling.py: trains the click model synchronously, on one core.

TF_CONFIG names the workers and the shards. The last line is one JSON object: the time
and the processor time of each window. A window has the same steps on all workers.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from processes import cpu_seconds, peak_memory_mb

WARM_UP_STEPS = 20
STALENESS = 4
# On one core, it takes a while until a worker has prepared its tables.
_TIMEOUT_SECONDS = 600


class Meter:
    """Measures the time of windows of steps, and the processor time of processes.

    Args:
        steps: The number of steps per window.
        pids: The ids of the processes, by name.
    """

    def __init__(self, steps: int, pids: Mapping[str, int]) -> None:
        self.windows: list[dict[str, Any]] = []
        self._steps = steps
        self._pids = pids
        self._begin: dict[str, float] = {}

    def step(self, number: int) -> None:
        """Must be called at the end of each step; the first has number 1."""
        if number < WARM_UP_STEPS or (number - WARM_UP_STEPS) % self._steps:
            return
        end = {name: cpu_seconds(pid) for name, pid in self._pids.items()}
        end["wall"] = time.monotonic()
        if self._begin:
            used = {name: end[name] - self._begin[name] for name in end}
            seconds = used.pop("wall")
            cpus = {name: of / seconds for name, of in used.items()}
            self.windows.append({"seconds": seconds, "cpus": cpus})
        self._begin = end


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Trains; returns what this worker measured."""
    import tensorflow as tf
    import w1_model
    import workload_w1

    import persia_tf as ptf
    from persia_tf._keras import keras

    options = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=_TIMEOUT_SECONDS
    )
    strategy = ptf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    data = workload_w1.load(arguments.batches, arguments.batch)
    pids = {f"worker {arguments.index}": os.getpid()}
    pids.update((f"shard {i}", pid) for i, pid in enumerate(arguments.shard_pids))
    meter = Meter(arguments.steps, pids)
    with strategy.scope():
        sizes = workload_w1.vocabularies()
        cluster = ptf.Cluster(staleness=STALENESS)
        model = w1_model.make_persia_joined(sizes, cluster)

        def own_data(context: tf.distribute.InputContext) -> tf.data.Dataset:
            batches = tf.data.Dataset.from_tensor_slices(
                ((data.ids(), data.dense), data.labels)
            )
            own = batches.shard(context.num_input_pipelines, context.input_pipeline_id)
            return ptf.data.prefetch(own.repeat(), model, staleness=STALENESS)

        model.fit(
            strategy.distribute_datasets_from_function(own_data),
            steps_per_epoch=WARM_UP_STEPS + arguments.windows * arguments.steps,
            verbose=0,
            callbacks=[
                keras.callbacks.LambdaCallback(
                    on_train_batch_end=lambda batch, logs: meter.step(batch + 1)
                )
            ],
        )
    return {
        "windows": meter.windows,
        "peak_memory_mb": peak_memory_mb(os.getpid()),
        "prefetch_hits": ptf.metrics()["prefetch_hits"],
        "versions": w1_model.versions(),
    }


def parse_arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--core", type=int, required=True)
    add("--batches", type=int, required=True)
    add("--batch", type=int, required=True)
    add("--windows", type=int, required=True)
    add("--steps", type=int, required=True, help="steps per window")
    add("--shard-pids", type=int, nargs="*", default=[], help="shards to measure too")
    arguments = parser.parse_args(given)
    arguments.index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
    return arguments


def main() -> None:
    arguments = parse_arguments()
    # Set before TensorFlow counts the cores, by which it sizes its thread pools.
    os.sched_setaffinity(0, {arguments.core})
    print(json.dumps(train(arguments)))


if __name__ == "__main__":
    main()
