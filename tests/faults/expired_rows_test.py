"""Rows whose lifetime had ended before their shard was killed."""

from __future__ import annotations

import numpy as np
import pytest
from harness import DEADLINE_SECONDS, wait_until

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 4


class TimedTable:
    """A table whose rows begin at zero, and leave after a while without use."""

    def __init__(self, name: str, cluster, eviction) -> None:
        self.rows = ptf.Table(name, cluster=cluster)
        ids = keras.Input((), dtype="int64")
        vectors = ptf.layers.PersiaEmbedding(
            DIM,
            table=name,
            cluster=cluster,
            embeddings_initializer="zeros",
            optimizer=ptf.optimizers.SGD(1.0),
            eviction=eviction,
        )(ids)
        self._model = keras.Model(ids, vectors)
        self._model.compile("sgd", "mse")
        self._cluster = cluster

    def train(self, row_id: int) -> None:
        ids = np.array([row_id])
        self._model.train_on_batch(ids, np.ones((1, DIM), "float32"))
        self._cluster.flush()

    def is_trained(self, row_id: int) -> bool:
        return bool(self.rows.lookup([row_id]).any())


@pytest.fixture
def timed(table, shard_process, tmp_path):
    shard = shard_process(options=[f"--recovery-folder={tmp_path}/recovery"])
    cluster = ptf.Cluster([shard.address], timeout=DEADLINE_SECONDS, staleness=0)
    return shard, lambda eviction: TimedTable(table, cluster, eviction)


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_a_row_that_was_over_by_steps_stays_away(timed, is_looked_at):
    shard, make = timed
    rows = make(ptf.eviction.TTL(steps=3))
    rows.train(1)
    for _ in range(3):
        rows.train(2)
    if is_looked_at:
        assert not rows.is_trained(1)
    shard.kill()
    shard.start()
    assert not rows.is_trained(1)
    assert rows.is_trained(2)


def test_a_row_lives_as_long_as_it_would_have(timed):
    shard, make = timed
    rows = make(ptf.eviction.TTL(steps=3))
    rows.train(1)
    rows.train(2)
    shard.kill()
    shard.start()
    assert rows.is_trained(1)
    rows.train(2)
    assert rows.is_trained(1)
    rows.train(2)
    assert not rows.is_trained(1)


def test_a_row_that_was_over_by_seconds_stays_away(timed):
    shard, make = timed
    rows = make(ptf.eviction.TTL(seconds=1))
    rows.train(1)
    assert rows.is_trained(1)
    wait_until(lambda: not rows.is_trained(1), "a row to expire")
    shard.kill()
    shard.start()
    assert not rows.is_trained(1)
