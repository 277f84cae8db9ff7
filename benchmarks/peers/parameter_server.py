"""The side `parameter_server` of peers.py: TensorFlow's ParameterServerStrategy.

    PYTHONPATH=benchmarks:. python benchmarks/peers/parameter_server.py

A coordinator, which is this program, has one worker train, while two parameter servers
have the rows and the dense weights; each is a process, as our trainer and our two
shards are. All features share one table, half of whose rows each server has, and the
worker looks up each distinct row once: both make a step send less. The worker always
has the next steps in its queue, so that it does not wait for the coordinator.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import peer_training as training
from workload_w1 import DIM, load, vocabularies

from persia_tf.processes.free_ports import free_ports

# Keras 3 has no support for this strategy.
os.environ["TF_USE_LEGACY_KERAS"] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ["GRPC_FAIL_FAST"] = "use_caller"

SERVERS = 2
_IN_FLIGHT = 4
# Smaller variables, like the dense weights, are not split.
_LEAST_PART_BYTES = 1 << 20
_END_SECONDS = 30
Cluster = Mapping[str, Sequence[str]]


def serve(cluster: Cluster, job: str, index: int) -> None:
    """Runs a worker or a parameter server until it is killed."""
    import tensorflow as tf

    spec = tf.train.ClusterSpec(cluster)
    tf.distribute.Server(spec, job_name=job, task_index=index, protocol="grpc").join()


@contextlib.contextmanager
def running_tasks(cluster: Cluster) -> Iterator[dict[str, int]]:
    """Runs the tasks of a cluster until the block ends; yields their process ids."""
    processes = {}
    try:
        for job, addresses in cluster.items():
            for index in range(len(addresses)):
                task = ["--task", job, str(index), "--ports"]
                ports = [at.rpartition(":")[2] for at in sum(cluster.values(), [])]
                processes[f"{job}_{index}"] = subprocess.Popen(
                    [sys.executable, __file__, *task, *ports]
                )
        yield {name: process.pid for name, process in processes.items()}
    finally:
        for process in processes.values():
            process.kill()
            process.wait(_END_SECONDS)


def make_step(strategy: Any, rows: int) -> Any:
    """Returns a function that trains one batch of an iterator, and returns its loss."""
    import tensorflow as tf

    layers, optimizers = tf.keras.layers, tf.keras.optimizers.legacy
    with strategy.scope():
        uniform = tf.keras.initializers.RandomUniform(
            -training.UNIFORM, training.UNIFORM, seed=training.SEED
        )
        table = layers.Embedding(rows, DIM, embeddings_initializer=uniform)
        table.build(None)
        dense_part = tf.keras.Sequential(
            [
                layers.Dense(256, activation="relu"),
                layers.Dense(128, activation="relu"),
                layers.Dense(1),
            ]
        )
        adagrad = optimizers.Adagrad(
            training.ADAGRAD_LEARNING_RATE,
            initial_accumulator_value=training.ADAGRAD_INITIAL,
        )
        adam = optimizers.Adam(training.ADAM_LEARNING_RATE)

    def train(batch: Any) -> Any:
        (indices, dense), labels = batch
        rows_of_batch, positions = tf.unique(tf.reshape(indices, [-1]))
        with tf.GradientTape() as tape:
            vectors = tf.gather(table(rows_of_batch), positions)
            vectors = tf.reshape(vectors, [tf.shape(dense)[0], -1])
            vectors = tf.ensure_shape(vectors, [None, indices.shape[1] * DIM])
            logits = dense_part(tf.concat([vectors, dense], axis=1))
            loss = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)
            )
        of_table, of_dense = table.trainable_weights, dense_part.trainable_weights
        gradients = tape.gradient(loss, of_table + of_dense)
        adagrad.apply_gradients(zip(gradients, of_table))
        adam.apply_gradients(zip(gradients[len(of_table) :], of_dense))
        return loss

    @tf.function
    def step(iterator: Any) -> Any:
        losses = strategy.run(train, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    return step


def steps(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[float]:
    """Has the worker train without an end; yields the loss of each step."""
    import tensorflow as tf

    strategy = tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster), rpc_layer="grpc"
        ),
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            _LEAST_PART_BYTES, max_shards=SERVERS
        ),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    data = load(arguments.batches, arguments.batch, arguments.rows)
    step = make_step(strategy, sum(vocabularies(data.rows)))
    inputs = (data.joined_indices(), data.dense), data.labels

    def batches() -> Any:
        return tf.data.Dataset.from_tensor_slices(inputs).repeat()

    iterator = iter(coordinator.create_per_worker_dataset(batches))
    in_flight: collections.deque[Any] = collections.deque()
    while True:
        in_flight.append(coordinator.schedule(step, args=(iterator,)))
        if len(in_flight) > _IN_FLIGHT:
            yield float(in_flight.popleft().fetch())


def cluster_of(ports: Sequence[int]) -> dict[str, list[str]]:
    """Returns the addresses of each job: a worker, and the parameter servers."""
    worker, *servers = (f"127.0.0.1:{port}" for port in ports)
    return {"worker": [worker], "ps": servers}


def main() -> None:
    if sys.argv[1:2] == ["--task"]:
        job, index, _, *ports = sys.argv[2:]
        serve(cluster_of(list(map(int, ports))), job, int(index))
        return
    arguments = training.parse_arguments(__doc__.splitlines()[0])
    cluster = cluster_of(free_ports(1 + SERVERS))
    with running_tasks(cluster) as pids:
        figures = training.measure(steps(cluster, arguments), arguments, pids)
        packages = ["tensorflow", "tf_keras", "numpy"]
        training.report("parameter_server", figures, arguments, packages)
        # Otherwise the coordinator would wait for steps that are still in its queue,
        # and complain about tasks that have ended.
        sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
