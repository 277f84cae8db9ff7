"""Followers, replicas and exports of a cluster that grows and shrinks."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf
from followed_copy import FollowedCopy
from harness import wait_until
from resharding import Repeated, reshard

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 4
TURNS = 2


class Training:
    """Trains rows of a table, and removes some, on and on."""

    def __init__(self, table, cluster) -> None:
        inputs = keras.Input((), dtype="int64", name="user")
        rows = ptf.layers.PersiaEmbedding(DIM, table=table, cluster=cluster)(inputs)
        dense = keras.layers.Dense(1, name="score", trainable=False)
        self.model = keras.Model(inputs, dense(rows))
        self.model.compile("sgd", "mse")
        self._rows = ptf.Table(table, cluster)
        self._draw = np.random.default_rng(5)

    def __call__(self) -> None:
        """Trains one batch, and removes rows."""
        ids = self._draw.integers(0, 3000, 256)
        self.model.train_on_batch(ids, np.ones((256, 1), "float32"))
        self._rows.remove(self._draw.integers(0, 3000, 30))


def rows_of(table, cluster) -> dict[int, list[float]]:
    rows: dict[int, list[float]] = {}
    for page in ptf.Table(table, cluster).export():
        for row_id, row in zip(page.ids.tolist(), page.rows.tolist()):
            assert row_id not in rows, f"row {row_id} was given twice"
            rows[row_id] = row
    return rows


def rows_of_export(loaded, table) -> dict[int, list[float]]:
    served = loaded.tables[table]
    ids = served.ids()
    return dict(zip(ids.numpy().tolist(), served.read(ids).numpy().tolist()))


@pytest.fixture
def shards(shard_process):
    """Three, of which the first two form the cluster at first."""
    return [shard_process() for _ in range(3)]


@pytest.fixture
def cluster(shards):
    return ptf.Cluster([shard.address for shard in shards[:2]], timeout=20)


def move_around(shards) -> None:
    """From two shards to three, and to another two, and back."""
    for _ in range(TURNS):
        reshard(shards, shards)
        reshard(shards[1:], shards[1:])
        reshard(shards[1:], shards)
        reshard(shards, shards[:2])


def test_a_model_that_follows_is_as_trained(shards, cluster, table, tmp_path):
    training = Training(table, cluster)
    training()
    path = ptf.serving.export(training.model, tmp_path / "model" / "1").path
    loaded = tf.saved_model.load(path)
    listed = [shard.address for shard in shards[:1]]
    with ptf.serving.Follower(loaded, listed, poll_seconds=0.01) as follower:
        with Repeated(training) as repeated:
            move_around(shards)
            reshard(shards, shards[1:])
        assert repeated.calls > 10
        cluster.flush()
        follower.wait_until_current(60)
        assert rows_of_export(loaded, table) == rows_of(table, cluster)
        assert {shard.shard for shard in follower.status.shards} == {
            shard.address for shard in shards[1:]
        }
        # A shard that has left may end.
        shards[0].kill()
        training()
        cluster.flush()
        follower.wait_until_current(60)
        assert rows_of_export(loaded, table) == rows_of(table, cluster)
        assert all(not shard.error for shard in follower.status.shards)


def test_a_copy_is_equal_to_the_tables(shards, cluster, table):
    training = Training(table, cluster)
    training()
    copy = FollowedCopy(cluster, 2)

    def poll():
        copy.follow(len(cluster.shard_stats()))
        for shard in range(len(copy.followers)):
            try:
                copy.poll(shard, max_rows=500)
            except ptf.errors.InvalidArgumentError:
                return  # A shard has left just now.

    with Repeated(training), Repeated(poll) as polls:
        move_around(shards)
    assert polls.calls > 10
    cluster.flush()
    copy.follow(len(cluster.shard_stats()))
    copy.catch_up()
    assert copy.rows[table] == rows_of(table, cluster)


def test_replicas_have_the_rows_of_their_shards(shards, cluster, table, start_replicas):
    training = Training(table, cluster)
    training()
    replicas = [
        ptf.Cluster([address], timeout=20)
        for address in start_replicas([shard.address for shard in shards])
    ]
    with Repeated(training):
        move_around(shards)
        reshard(shards, shards)
    cluster.flush()
    expected = rows_of(table, cluster)

    def rows_of_replicas():
        rows: dict[int, list[float]] = {}
        for replica in replicas:
            names = {each.name for each in replica.shard_stats()[0].tables}
            if table not in names:
                return None
            of_one = rows_of(table, replica)
            if rows.keys() & of_one.keys():
                return None  # A move that one has not noticed yet.
            rows.update(of_one)
        return rows

    wait_until(lambda: rows_of_replicas() == expected, "replicas to have all rows")


def test_an_export_is_exact_or_says_that_it_is_not(shards, cluster, table):
    ids = np.arange(4000)
    Training(table, cluster)
    ptf.Table(table, cluster).assign(ids, np.repeat(ids[:, None], DIM, axis=1))
    exact = interrupted = 0
    with Repeated(lambda: move_around(shards)) as moves:
        while moves.calls < 1 or not exact or not interrupted:
            rows: list[int] = []
            try:
                for page in ptf.Table(table, cluster).export(batch_size=100):
                    rows += page.ids.tolist()
            except ptf.errors.InterruptedExportError as error:
                assert "export again" in str(error)
                interrupted += 1
                continue
            exact += 1
            assert sorted(rows) == ids.tolist()


def test_what_exports_all_rows_begins_again(shards, cluster, table, tmp_path):
    training = Training(table, cluster)
    ids = np.arange(4000)
    rows = np.repeat(ids[:, None], DIM, axis=1).astype("float32")
    ptf.Table(table, cluster).assign(ids, rows)
    expected = dict(zip(ids.tolist(), rows.tolist()))
    for number, wanted in enumerate([shards, shards[:2], shards[1:]]):
        # The move ends long before the last try.
        mover = threading.Thread(target=reshard, args=(shards, wanted))
        mover.start()
        path = ptf.serving.export(training.model, tmp_path / str(number)).path
        mover.join()
        assert rows_of_export(tf.saved_model.load(path), table) == expected
