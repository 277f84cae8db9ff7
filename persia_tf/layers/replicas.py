"""Replicas of a model within one process, as a distribution strategy makes them."""

from __future__ import annotations

import tensorflow as tf


def local_replica() -> int:
    """Returns which of this process's replicas runs the caller: 0 if there is one.

    Outside of replicas too, as where a model is only traced, it is 0.
    """
    context = tf.distribute.get_replica_context()
    if context is None or context.num_replicas_in_sync == 1:
        return 0
    local = len(context.strategy.extended.worker_devices)
    if local == 1:
        return 0
    return int(tf.get_static_value(context.replica_id_in_sync_group)) % local
