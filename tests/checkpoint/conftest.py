"""Fixtures: clusters whose shards have a checkpoint root, and their rows."""

from __future__ import annotations

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras


class Trained:
    """A table on a cluster, and training steps on it.

    Args:
        shards: Addresses; none for rows in this process.
        table: The table's name.
        timeout: The time-out of requests to shards.
    """

    def __init__(self, shards, table, timeout=30.0, **layer_options):
        self.cluster = (
            ptf.Cluster(shards, staleness=0, timeout=timeout)
            if shards
            else ptf.Cluster.embedded()
        )
        self.addresses = shards
        self.table = ptf.Table(table, self.cluster)
        ids = keras.Input(shape=(), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            4, table=table, cluster=self.cluster, **layer_options
        )(ids)
        self.model = keras.Model(ids, keras.layers.Dense(1)(vectors))
        self.model.compile("sgd", "mse")

    def step(self, steps=3, seed=0, ids=200):
        random = np.random.default_rng(seed)
        for _ in range(steps):
            batch = random.integers(0, ids, 64)
            self.model.train_on_batch(batch, np.ones((64, 1), "float32"))

    def rows(self):
        """Every row by id: its weights and its state."""
        return {
            int(one): (tuple(row), tuple(state))
            for page in self.table.export()
            for one, row, state in zip(page.ids, page.rows, page.state)
        }


@pytest.fixture
def trained(start_shards, tmp_path, table):
    """Makes a table on a number of shards; 0: on the store of this process."""

    def make(shard_count, others=(), root=tmp_path, table=table, **layer_options):
        shards = start_shards(shard_count, checkpoint_root=str(root))
        addresses = [*(shard.address for shard in shards), *others]
        return Trained(addresses, table, **layer_options)

    return make
