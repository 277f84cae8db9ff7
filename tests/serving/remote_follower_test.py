"""Copies of hot rows that a follower keeps right."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

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
def loaded(model, tmp_path):
    """An export that asks shards, and keeps copies only while they are followed."""
    train(model)
    remote = ptf.serving.Remote(timeout=20, hot_rows=1000)
    path = ptf.serving.export(model, tmp_path / "1", mode="remote", remote=remote).path
    ptf.serving.load_ops()
    return tf.saved_model.load(path)


def train(model):
    model.fit(IDS, np.ones((len(IDS), 3), np.float32), batch_size=16, verbose=0)
    ptf.flush()


def answers(loaded):
    [found] = loaded.signatures["serving_default"](user=tf.constant(IDS)).values()
    return found.numpy()


def copied_rows(cluster):
    """How many rows copies gave, to models of this cluster."""
    return sum(
        stats.hot_hits
        for stats in ptf.serving.remote_stats()
        if stats.addresses == cluster.shards
    )


def test_copies_answer_and_are_as_trained(cluster, model, loaded, table):
    answers(loaded)  # Its client opens.
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
        # Not all rows were sent to who needs none of them.
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
