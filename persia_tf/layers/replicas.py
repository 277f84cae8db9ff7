"""Model replicas under a distribution strategy, in this process and in others."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def strategy_of(model: Any) -> Any:
    """Returns the `tf.distribute.Strategy` in whose scope a model was created, or None.

    Args:
        model: A Keras model, or any callable.
    """
    return getattr(model, "distribute_strategy", None)


def local_replicas(strategy: Any) -> int:
    """Returns how many replicas of a strategy are in this process.

    Args:
        strategy: A `tf.distribute.Strategy`, or None, which means one replica.
    """
    # Do not count devices here: TensorFlow's default strategy has no list of them.
    if strategy is None or strategy.num_replicas_in_sync == 1:
        return 1
    return len(strategy.extended.worker_devices)


def local_replica() -> int:
    """Returns the index of the current replica among those of this process.

    The index is 0 if there is only one replica, and if no replica is running, as when a
    model is only traced.
    """
    context = tf.distribute.get_replica_context()
    local = local_replicas(context.strategy) if context is not None else 1
    if local == 1:
        return 0
    return int(tf.get_static_value(context.replica_id_in_sync_group)) % local


def has_other_workers(strategy: Any) -> bool:
    """Returns whether a strategy also has replicas in other processes.

    Args:
        strategy: A `tf.distribute.Strategy`, or None.
    """
    if strategy is None:
        return False
    return strategy.num_replicas_in_sync > local_replicas(strategy)


def after_all_workers(value: tf.Tensor) -> tf.Tensor:
    """Returns `value` after a barrier over all replicas of all workers.

    Args:
        value: A tensor of any shape, which is computed before the barrier.

    Raises:
        NotImplementedError: if there are other workers, but the caller runs outside of
            replicas.
    """
    if not has_other_workers(tf.distribute.get_strategy()):
        return value
    context = tf.distribute.get_replica_context()
    if context is None:
        raise NotImplementedError(
            "a `Cluster(staleness=0)` on several workers needs an optimizer that "
            "applies constraints in each replica: use one of keras.optimizers, and "
            "not of tf_keras.optimizers.legacy. Received: an optimizer that applies "
            "a constraint across replicas"
        )
    with tf.control_dependencies([value]):
        one = tf.identity(tf.constant(1.0))
    with tf.control_dependencies([context.all_reduce("SUM", one)]):
        return tf.identity(value)
