"""Copies of hot rows that a follower keeps current."""

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.serving.remote_clients import remote_clients

SECONDS = 60.0
IDS = np.arange(64)


@pytest.fixture
def cluster(start_shards):
    return ptf.Cluster([shard.address for shard in start_shards(2)], timeout=20)


@pytest.fixture
def model(cluster, table):
    user = keras.Input((), dtype="int64", name="user")
    rows = ptf.layers.PersiaEmbedding(3, table=table, cluster=cluster)(user)
    model = keras.Model(user, rows)
    model.compile("sgd", "mse")
    return model


@pytest.fixture
def export(tmp_path):
    """Exports and loads; without `hot_seconds`, rows are copied only while followed."""

    def load(model, version="1", hot_seconds=0):
        remote = ptf.serving.Remote(20, hot_rows=1000, hot_seconds=hot_seconds)
        options = {"mode": "remote", "remote": remote}
        ptf.serving.load_ops()
        return tf.saved_model.load(
            ptf.serving.export(model, tmp_path / version, **options).path
        )

    return load


@pytest.fixture
def loaded(model, export):
    """An export of the trained model, loaded."""
    train(model)
    return export(model)


def train(model):
    model.fit(IDS, np.ones((len(IDS), 3), np.float32), batch_size=16, verbose=0)
    ptf.flush()


def answers(loaded):
    [found] = loaded.signatures["serving_default"](user=tf.constant(IDS)).values()
    return found.numpy()


def copied_rows(cluster):
    """Returns how many rows were answered from copies, in models of this cluster."""
    return sum(
        stats.hot_hits
        for stats in ptf.serving.remote_stats()
        if stats.addresses == cluster.shards
    )


def test_copies_answer_and_are_as_trained(cluster, model, loaded, table):
    answers(loaded)  # Its client connects.
    assert copied_rows(cluster) == 0
    with ptf.serving.Follower(loaded, cluster) as follower:
        follower.wait_until_current(SECONDS)
        answers(loaded)
        answers(loaded)
        assert copied_rows(cluster) == len(IDS)
        train(model)
        ptf.Table(table, cluster).remove(IDS[:10])
        follower.wait_until_current(SECONDS)
        np.testing.assert_array_equal(
            answers(loaded), np.asarray(model(tf.constant(IDS), training=False))
        )
        assert not answers(loaded)[:10].any()
        assert copied_rows(cluster) > len(IDS)
        # The follower needs only the copied rows, and gets few others.
        assert sum(shard.rows for shard in follower.status.shards) <= 2 * len(IDS)


def test_nobody_copies_once_nobody_follows(cluster, model, loaded):
    answers(loaded)
    with ptf.serving.Follower(loaded, cluster) as follower:
        follower.wait_until_current(SECONDS)
        answers(loaded)
    before = copied_rows(cluster)
    train(model)
    np.testing.assert_array_equal(
        answers(loaded), np.asarray(model(tf.constant(IDS), training=False))
    )
    assert copied_rows(cluster) == before


def test_a_follower_that_ends_leaves_copies_to_another(cluster, model, loaded):
    answers(loaded)
    with ptf.serving.Follower(loaded, cluster) as second:
        with ptf.serving.Follower(loaded, cluster) as first:
            for follower in (first, second):
                follower.wait_until_current(SECONDS)
            answers(loaded)
        before = copied_rows(cluster)
        train(model)
        second.wait_until_current(SECONDS)
        np.testing.assert_array_equal(
            answers(loaded), np.asarray(model(tf.constant(IDS), training=False))
        )
        assert copied_rows(cluster) == before + len(IDS)


def test_copies_of_other_shards_are_not_touched(
    cluster, model, loaded, table, start_shards, export
):
    answers(loaded)
    others = ptf.Cluster([shard.address for shard in start_shards(2)], timeout=20)
    user = keras.Input((), dtype="int64", name="user")
    rows = ptf.layers.PersiaEmbedding(3, table=table, cluster=others)(user)
    other = keras.Model(user, rows)
    other.compile("sgd", "mse")
    for _ in range(2):
        train(other)
    of_others = export(other, version="2")
    answers(of_others)  # Now both have clients.
    with ptf.serving.Follower(of_others, others) as follower:
        follower.wait_until_current(SECONDS)
        for each in (loaded, of_others):
            answers(each)
        train(other)
        follower.wait_until_current(SECONDS)
        for each, trained in ((loaded, model), (of_others, other)):
            expected = np.asarray(trained(tf.constant(IDS), training=False))
            np.testing.assert_array_equal(answers(each), expected)
        assert copied_rows(cluster) == 0
        assert copied_rows(others) == len(IDS)


def test_copies_of_who_asks_before_followed_shards_do_not_grow_old(
    cluster, model, loaded, start_worker
):
    answers(loaded)
    workers = ptf.Cluster([start_worker(cluster.shards)], timeout=20)
    with ptf.serving.Follower(loaded, workers) as follower:
        follower.wait_until_current(SECONDS)
        for _ in range(2):
            answers(loaded)
        assert copied_rows(cluster) == len(IDS)


def test_copies_of_who_asks_others_than_are_followed_grow_old(
    cluster, model, loaded, start_replicas
):
    answers(loaded)
    replicas = ptf.Cluster(start_replicas(cluster.shards), timeout=20)
    with ptf.serving.Follower(loaded, replicas) as follower:
        follower.wait_until_current(SECONDS)
        for _ in range(2):
            answers(loaded)
        assert copied_rows(cluster) == 0


def test_copies_of_who_asks_others_than_are_followed_are_set_right(
    cluster, model, export, start_replicas
):
    for other in remote_clients():
        other.close()
    train(model)
    loaded = export(model, hot_seconds=3600)
    for _ in range(2):
        answers(loaded)
    assert copied_rows(cluster) == len(IDS)
    replicas = ptf.Cluster(start_replicas(cluster.shards), timeout=20)
    with ptf.serving.Follower(loaded, replicas) as follower:
        follower.wait_until_current(SECONDS)
        train(model)
        expected = np.asarray(model(tf.constant(IDS), training=False))
        wait_until(lambda: np.array_equal(answers(loaded), expected), "the rows of now")
