"""The strategy by which several worker processes train one model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3
from persia_tf.distribute import keras3_reduce

_TIMEOUT_SECONDS = 300.0


class MultiWorkerMirroredStrategy(tf.distribute.MultiWorkerMirroredStrategy):
    """Trains dense layers synchronously on several workers; rows stay in shards.

    TensorFlow's own strategy, but

    - the `ps` entries of `TF_CONFIG` may name the shards: the workers do not wait
      for them to join, as they would else, for ever;
    - `fit`, `evaluate` and `predict` work under Keras 3 too
      (https://github.com/keras-team/keras/issues/20585);
    - a worker whose peer is gone raises after some minutes, by default, rather than
      wait for ever.

    Call `fit` and `evaluate` within `scope()`: outside of it, Keras 3 reports each
    worker's own metrics rather than those of all.

    Example:

    ```python
    # On each worker, with its own TF_CONFIG.
    strategy = ptf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        user = keras.Input(shape=(), dtype="int64")
        vector = ptf.layers.PersiaEmbedding(16, table="user")(user)
        model = keras.Model(user, keras.layers.Dense(1)(vector))
        model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
        model.fit(dataset)
    ```

    Args:
        cluster_resolver: Which processes are the workers, and which of them this is.
            Defaults to those of `TF_CONFIG` but its `ps` entries.
        communication_options: A `tf.distribute.experimental.CommunicationOptions`.
            Its `timeout_seconds` bounds how long a worker waits for its peers in a
            step, and so for the slowest one's data, first trace and prefetched rows.
            Where it is None, it is 300; 0 lets workers wait for ever. Defaults to
            None: TensorFlow's options, and these 300 seconds.

    Raises:
        ValueError: if the workers of `cluster_resolver` include `ps` tasks, or if
            `TF_CONFIG` says that this process is one.
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
        super().__init__(cluster_resolver, _with_timeout(communication_options))

    def reduce(self, reduce_op: Any, value: Any, axis: int | None = None) -> Any:
        """Reduces a value across replicas; see `tf.distribute.Strategy.reduce`.

        Args:
            reduce_op: As there.
            value: As there, or under Keras 3 a nest of such.
            axis: As there.

        Returns:
            As there.
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

        Under Keras 3, workers whose data end earlier take part with empty batches
        until all have ended.

        Args:
            dataset_fn: As there.
            options: As there.

        Returns:
            As there.
        """
        distribute = super().distribute_datasets_from_function
        if not IS_KERAS_3:
            return distribute(dataset_fn, options)
        return distribute(lambda context: _uncounted(dataset_fn(context)), options)


def _uncounted(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Lest Keras 3 ends a worker's epoch by its own count of batches, not by all's."""
    if dataset.cardinality() < 0:
        return dataset
    return dataset.filter(lambda *element: True)


class _Workers(tf.distribute.cluster_resolver.TFConfigClusterResolver):
    """The cluster of `TF_CONFIG` without shards, which are no TensorFlow servers."""

    def cluster_spec(self) -> tf.train.ClusterSpec:
        tasks = super().cluster_spec().as_dict()
        tasks.pop("ps", None)
        return tf.train.ClusterSpec(tasks)


def _with_timeout(options: Any) -> Any:
    """The options with a bound, lest workers wait for ever for one that is gone."""
    bounded = tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=_TIMEOUT_SECONDS
    )
    if options is not None and not isinstance(options, type(bounded)):
        return options  # TensorFlow refuses it, and says what it must be.
    return bounded.merge(options)


def _check_workers(resolver: Any) -> None:
    if resolver.task_type == "ps":
        raise ValueError(
            "a parameter server shard is `persia ps`, and no TensorFlow worker. "
            f"Received: a cluster whose task here is ps {resolver.task_id}"
        )
    if "ps" in resolver.cluster_spec().jobs:
        raise ValueError(
            "`cluster_resolver` must leave out `ps` tasks: the strategy would wait "
            "for shards to join it. Name shards by persia_tf.Cluster([...]). "
            f"Received: tasks {sorted(resolver.cluster_spec().jobs)}"
        )
