"""The strategy with which several worker processes train one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3
from persia_tf.distribute import keras3_reduce, tf_keras_metrics
from persia_tf.distribute.named_failures import name_failed_workers
from persia_tf.distribute.peers import Peers
from persia_tf.distribute.watchdog import Watchdog

_TIMEOUT_SECONDS = 300.0


class MultiWorkerMirroredStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """Trains dense layers synchronously on several workers; rows stay in shards.

    This is TensorFlow's strategy with these differences:

    - The `ps` entries of `TF_CONFIG` may name the shards. With TensorFlow's strategy,
      workers would wait forever for the shards to join.
    - `fit`, `evaluate` and `predict` work under Keras 3 too
      (https://github.com/keras-team/keras/issues/20585).
    - With tf_keras, a model that has trained can load weights
      (https://github.com/keras-team/tf-keras/issues/731).
    - A worker that has lost a peer raises an error that names the peer, by default
      after five minutes at most. With TensorFlow's strategy, it may wait forever.

    Call `fit` and `evaluate` within `scope()`: outside of it, Keras 3 reports each
    worker's own metrics instead of the metrics over all workers.

    Example:

    ```python
    # Run this on each worker, with the worker's own TF_CONFIG.
    strategy = ptf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        user = keras.Input(shape=(), dtype="int64")
        vector = ptf.layers.PersiaEmbedding(16, table="user")(user)
        model = keras.Model(user, keras.layers.Dense(1)(vector))
        model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
        model.fit(dataset)
    ```

    Args:
        cluster_resolver: Lists the workers, and says which of them this process is.
            Defaults to `TF_CONFIG` without its `ps` entries.
        communication_options: A `tf.distribute.experimental.CommunicationOptions`.
            Its `timeout_seconds` bounds how long a worker waits for its peers in a
            step. That includes the time that the slowest peer needs for its data, its
            first trace and its prefetched rows. A `timeout_seconds` of None means 300;
            0 lets workers wait forever. Defaults to None: TensorFlow's options with a
            timeout of 300 seconds.

    Raises:
        ValueError: if the tasks of `cluster_resolver` include `ps` tasks, or if
            `TF_CONFIG` makes this process a `ps` task.
    """

    def __init__(
        self,
        cluster_resolver: tf.distribute.cluster_resolver.ClusterResolver | None = None,
        communication_options: tf.distribute.experimental.CommunicationOptions
        | None = None,
    ) -> None:
        if cluster_resolver is None:
            cluster_resolver = _Workers()
        _check_workers(cluster_resolver)
        options, self._timeout_seconds = _without_timeout(communication_options)
        super().__init__(cluster_resolver, options)
        self._watchdog: Watchdog | None = None
        peers = Peers.of(cluster_resolver)
        name_failed_workers(peers)
        if not IS_KERAS_3:
            tf_keras_metrics.load_metrics_from_arrays()
        if self.num_replicas_in_sync > 1 and self._timeout_seconds:
            self._watchdog = Watchdog(self, self._timeout_seconds, peers)

    @property
    def timeout_seconds(self) -> float:
        """How long a step waits for other workers, or 0 for no limit."""
        return self._timeout_seconds

    @property
    def watchdog(self) -> Watchdog | None:
        """Ends steps that wait too long; None if none does."""
        return self._watchdog

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Reduces a value across replicas; see `tf.distribute.Strategy.reduce`.

        Args:
            reduce_op: As for `tf.distribute.Strategy.reduce`.
            value: As for `tf.distribute.Strategy.reduce`; under Keras 3 also a nest of
                values.
            axis: As for `tf.distribute.Strategy.reduce`.

        Returns:
            The reduced value; under Keras 3, a nest of reduced values if `value` is a
            nest.
        """
        reduce = super().reduce
        if not IS_KERAS_3:
            return reduce(reduce_op, value, axis)
        return keras3_reduce.reduce_structure(self, reduce, reduce_op, value, axis)

    def distribute_datasets_from_function(
        self,
        dataset_fn: Callable[[tf.distribute.InputContext], tf.data.Dataset],
        options: tf.distribute.InputOptions | None = None,
    ) -> Any:
        """Distributes each worker's own dataset; see `tf.distribute.Strategy`.

        Under Keras 3, a worker whose data ends early takes part with empty batches
        until the data of all workers has ended.

        Args:
            dataset_fn: A function that takes a `tf.distribute.InputContext`, and
                returns the dataset of this worker.
            options: The `tf.distribute.InputOptions`, or None.

        Returns:
            A `tf.distribute.DistributedDataset`.
        """
        distribute = super().distribute_datasets_from_function
        if not IS_KERAS_3:
            return distribute(dataset_fn, options)
        return distribute(lambda context: _uncounted(dataset_fn(context)), options)


def _uncounted(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Hides the number of batches of a worker's dataset from Keras 3.

    Otherwise Keras 3 would end the worker's epoch after that number of batches, even if
    other workers have more.
    """
    if dataset.cardinality() < 0:
        return dataset
    return dataset.filter(lambda *element: True)


class _Workers(tf.distribute.cluster_resolver.TFConfigClusterResolver):
    """The cluster of `TF_CONFIG` without shards, which are not TensorFlow servers."""

    def cluster_spec(self) -> tf.train.ClusterSpec:
        tasks = super().cluster_spec().as_dict()
        tasks.pop("ps", None)
        return tf.train.ClusterSpec(tasks)


def _without_timeout(options: Any) -> tuple[Any, float]:
    """Returns options in which collective operations have no timeout, and the timeout.

    Args:
        options: A `tf.distribute.experimental.CommunicationOptions`, or None.
    """
    kind = type(tf.distribute.experimental.CommunicationOptions())
    if options is None:
        return options, _TIMEOUT_SECONDS
    if not isinstance(options, kind):
        return options, 0.0  # TensorFlow refuses them with a clear message.
    given = options.timeout_seconds
    bare = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=options.bytes_per_pack,
        implementation=options.implementation,
    )
    return bare, _TIMEOUT_SECONDS if given is None else given


def _check_workers(resolver: Any) -> None:
    if resolver.task_type == "ps":
        raise ValueError(
            "a parameter server shard is not a TensorFlow worker: start this task with "
            "`persia ps`. "
            f"Received: a cluster whose task here is ps {resolver.task_id}"
        )
    if "ps" in resolver.cluster_spec().jobs:
        raise ValueError(
            "`cluster_resolver` must not list `ps` tasks, since the strategy would "
            "wait for shards to join it. Name shards by persia_tf.Cluster([...]). "
            f"Received: tasks {sorted(resolver.cluster_spec().jobs)}"
        )
