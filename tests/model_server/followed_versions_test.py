"""Versions that follow shards while they are served."""

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until

import persia_tf as ptf
from persia_tf import model_server
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
    score = keras.layers.Dense(1, name="score", trainable=False)(rows)
    model = keras.Model(user, score)
    model.compile("sgd", "mse")
    return model


def train(model):
    model.fit(IDS, np.ones((len(IDS), 1), np.float32), batch_size=16, verbose=0)
    ptf.flush()


def expected(model):
    return np.asarray(model(tf.constant(IDS), training=False))


def wait_until_current(following):
    for each in following.followers():
        each.wait_until_current(SECONDS)


def test_each_version_is_current_before_its_first_request_and_stays_so(
    cluster, model, folder, serve
):
    train(model)
    ptf.serving.export(model, folder / "1")
    train(model)
    following = model_server.Following(cluster)
    client = serve(watchers=[following])
    found = client.predict(user=IDS)["score"]
    np.testing.assert_allclose(found, expected(model), rtol=0, atol=1e-6)
    train(model)
    wait_until_current(following)
    found = client.predict(user=IDS)["score"]
    np.testing.assert_allclose(found, expected(model), rtol=0, atol=1e-6)
    assert following.status()[1].error == ""
    _, metrics = client.get("/metrics")
    assert 'persia_serve_follow_seconds_behind{version="1"}' in metrics
    for address in cluster.shards:
        told = {"version": "1", "shard": address}
        rows = client.server.metrics.value("persia_serve_follow_rows_total", **told)
        assert rows > 0
    ptf.serving.export(model, folder / "2")
    train(model)
    client.server.poll()
    assert list(following.status()) == [2]
    found = client.predict(user=IDS)["score"]
    np.testing.assert_allclose(found, expected(model), rtol=0, atol=1e-6)


def test_a_version_serves_what_it_has_while_shards_are_away(
    shard_process, table, folder, serve, tmp_path
):
    shard = shard_process(options=["--recovery-folder", str(tmp_path / "log")])
    cluster = ptf.Cluster([shard.address], timeout=20)
    user = keras.Input((), dtype="int64", name="user")
    rows = ptf.layers.PersiaEmbedding(3, table=table, cluster=cluster)(user)
    model = keras.Model(user, rows)
    model.compile("sgd", "mse")
    model.fit(IDS, np.ones((len(IDS), 3), np.float32), verbose=0)
    ptf.flush()
    ptf.serving.export(model, folder / "1")
    before = expected(model)
    shard.kill()
    away = ptf.Cluster([shard.address], timeout=0.5)
    following = model_server.Following(away, current_seconds=0.1)
    client = serve(watchers=[following])
    [found] = client.predict(user=IDS).values()
    np.testing.assert_allclose(found, before, rtol=0, atol=1e-6)
    wait_until(lambda: "Error" in following.status()[1].error, "a refusal")
    assert following.status()[1].seconds_behind is None


def test_a_version_that_waits_to_be_current_ends_with_its_server(
    model, folder, serve, caplog
):
    model(tf.constant(IDS), training=True)  # Makes rows.
    ptf.serving.export(model, folder / "1")
    # No server listens there.
    away = ptf.Cluster(["127.0.0.1:1"], timeout=0.5)
    following = model_server.Following(away, current_seconds=3600)
    client = serve(serves=False, watchers=[following])
    wait_until(following.followers, "a version that waits")
    [follower] = following.followers()
    client.server.stop()
    assert following.followers() == []
    assert not follower._watcher.is_alive()
    assert not client.server.is_serving
    assert "Version 1 serves" not in caplog.text


def test_what_cannot_follow_does_not_serve_and_says_why(
    cluster, folder, serve, saved_models
):
    (folder / "1").symlink_to(saved_models(2))
    client = serve(serves=False, watchers=[model_server.Following(cluster)])
    client.server.poll()
    assert client.versions() == {1: "END"}
    assert not client.server.is_serving
