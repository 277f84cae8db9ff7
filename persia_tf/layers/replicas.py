"""Replicas of a model, as a distribution strategy makes them, here and elsewhere."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def strategy_of(model: Any) -> Any:
    """Returns the `tf.distribute.Strategy` that a Keras model was made under, or None.

    Args:
        model: A Keras model, or what is called like one.
    """
    return getattr(model, "distribute_strategy", None)


def local_replicas(strategy: Any) -> int:
    """Returns how many replicas of a strategy are in this process.

    Args:
        strategy: A `tf.distribute.Strategy`, or None: one replica.
    """
    # TensorFlow's default strategy knows no devices.
    if strategy is None or strategy.num_replicas_in_sync == 1:
        return 1
    return len(strategy.extended.worker_devices)


def local_replica() -> int:
    """Returns which of this process's replicas runs the caller: 0 if there is one.

    Outside of replicas too, as where a model is only traced, it is 0.
    """
    context = tf.distribute.get_replica_context()
    local = local_replicas(context.strategy) if context is not None else 1
    if local == 1:
        return 0
    return int(tf.get_static_value(context.replica_id_in_sync_group)) % local


def has_other_workers(strategy: Any) -> bool:
    """Returns whether a strategy has replicas in other processes too.

    Args:
        strategy: A `tf.distribute.Strategy`, or None.
    """
    if strategy is None:
        return False
    return strategy.num_replicas_in_sync > local_replicas(strategy)


def after_all_workers(value: tf.Tensor) -> tf.Tensor:
    """Returns `value`, once every replica of every worker has come here.

    Args:
        value: What must be computed before; of any shape.

    Raises:
        NotImplementedError: outside of replicas, where there are other workers.
    """
    if not has_other_workers(tf.distribute.get_strategy()):
        return value
    context = tf.distribute.get_replica_context()
    if context is None:
        raise NotImplementedError(
            "a `Cluster(staleness=0)` on several workers needs an optimizer that "
            "applies constraints in replicas, as those of keras.optimizers do, and "
            "tf_keras.optimizers.legacy do not. Received: a constraint that is "
            "applied across replicas"
        )
    with tf.control_dependencies([value]):
        one = tf.identity(tf.constant(1.0))
    with tf.control_dependencies([context.all_reduce("SUM", one)]):
        return tf.identity(value)
