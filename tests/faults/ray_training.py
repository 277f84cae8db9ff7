"""Training on a `ptf.ray.Cluster` whose servers die, or come and go."""

from __future__ import annotations

import contextlib

import numpy as np
from harness import wait_until

import persia_tf as ptf
from persia_tf._keras import keras


def model_of(table):
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, optimizer=ptf.optimizers.SGD(0.5)
    )
    model = keras.Model(inputs, keras.layers.Flatten()(layer(inputs)))
    model.compile("sgd", "mse")
    return model


def train(model, steps):
    ids = np.arange(30).reshape(10, 3)
    for _ in range(steps):
        model.train_on_batch(ids, np.ones((10, 12), np.float32))
    ptf.flush()


@contextlib.contextmanager
def connected(cluster):
    """Connects the test, with requests that wait for a restart on a busy machine."""
    with cluster.connection(), ptf.use_cluster(ptf.Cluster(timeout=120.0)):
        yield


def rows_of(table):
    return ptf.Table(table).lookup(np.arange(30))


def kill(cluster, shard):
    """Kills a shard's process, and waits until the driver knows its new address."""
    import ray

    before = cluster.shards
    ray.kill(cluster.actors[shard], no_restart=False)
    wait_until(lambda: cluster.shards != before, "the restart")
