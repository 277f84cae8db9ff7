"""Loaded standalone exports that follow shards on which training goes on."""

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until
from stream_faults import Faults

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 3
SECONDS = 60.0


def cluster_of(shards):
    return ptf.Cluster([shard.address for shard in shards], timeout=20)


@pytest.fixture
def model_on(table):
    """Makes a model whose rows live in the test's table."""

    def make(cluster, dim=DIM, **options):
        user = keras.Input((), dtype="int64", name="user")
        rows = ptf.layers.PersiaEmbedding(
            *(dim,),
            table=table,
            cluster=cluster,
            embeddings_initializer=keras.initializers.RandomNormal(seed=1),
            **options,
        )(user)
        model = keras.Model(user, keras.layers.Dense(1, name="score")(rows))
        # The dense layers of an export do not change, so the model's must not.
        model.layers[-1].trainable = False
        model.compile("sgd", "mse")
        return model

    return make


@pytest.fixture
def loaded(tmp_path):
    """Exports a model and loads the export."""

    def export(model, **options):
        path = ptf.serving.export(model, tmp_path / "model" / "1", **options).path
        return tf.saved_model.load(path)

    return export


def train(model, ids):
    ids = np.asarray(ids, np.int64)
    model.fit(ids, np.ones((len(ids), 1), np.float32), batch_size=8, verbose=0)
    ptf.flush()


def rows_of_export(loaded, name):
    table = loaded.tables[name]
    ids = table.ids()
    return dict(zip(ids.numpy().tolist(), table.read(ids).numpy().tolist()))


def rows_of_shards(name, cluster):
    return {
        row_id: row
        for batch in ptf.Table(name, cluster).export()
        for row_id, row in zip(batch.ids.tolist(), batch.rows.tolist())
    }


def assert_is_as_trained(loaded, model, table, cluster):
    rows = rows_of_shards(table, cluster)
    assert rows
    assert rows_of_export(loaded, table) == rows  # Bit by bit.
    ids = np.array([*rows, 10**9], np.int64)
    found = loaded.signatures["serving_default"](user=tf.constant(ids))["score"]
    expected = model(tf.constant(ids), training=False)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shards", [1, 3])
def test_it_gets_what_is_trained(start_shards, model_on, loaded, table, shards):
    cluster = cluster_of(start_shards(shards))
    model = model_on(cluster)
    train(model, range(50))
    serving = loaded(model)
    train(model, range(30, 80))
    with ptf.serving.Follower(serving, cluster) as follower:
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, model, table, cluster)
        for first in range(100, 400, 100):
            train(model, range(first, first + 120))
            ptf.Table(table, cluster).remove(np.arange(first, first + 50))
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, model, table, cluster)
        status = follower.status
    assert [shard.error for shard in status.shards] == [""] * shards
    # Ids 30 to 79, and those of 100 to 419 that were not removed. Rows that change
    # while the follower waits for its next delta arrive only once.
    assert sum(shard.rows for shard in status.shards) >= 50 + 320 - 150
    assert 0 <= status.seconds_behind < SECONDS


def test_rows_that_are_evicted_go(start_shards, model_on, loaded, table):
    cluster = cluster_of(start_shards(2))
    model = model_on(cluster, capacity=64, eviction=ptf.eviction.LRU())
    train(model, range(40))
    serving = loaded(model)
    with ptf.serving.Follower(serving, cluster) as follower:
        for first in range(0, 2000, 500):
            train(model, range(first, first + 500))
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, model, table, cluster)


@pytest.mark.parametrize("row_dtype", ["float16", "int8"])
def test_rows_are_held_as_an_export_of_now_has_them(
    start_shards, model_on, loaded, table, row_dtype, tmp_path
):
    cluster = cluster_of(start_shards(1))
    model = model_on(cluster)
    train(model, range(50))
    serving = loaded(model, row_dtype=row_dtype)
    train(model, range(100))
    with ptf.serving.Follower(serving, cluster) as follower:
        follower.wait_until_current(SECONDS)
    path = ptf.serving.export(model, tmp_path / "2", row_dtype=row_dtype).path
    anew = tf.saved_model.load(path)
    assert rows_of_export(serving, table) == rows_of_export(anew, table)


def test_shards_of_another_number_are_followed(
    start_shards, model_on, loaded, table, tmp_path
):
    root = str(tmp_path / "checkpoints")
    two = cluster_of(start_shards(2, checkpoint_root=root))
    model = model_on(two)
    train(model, range(60))
    serving = loaded(model)
    train(model, range(40, 90))
    ptf.checkpoint.save("now", cluster=two)
    three = cluster_of(start_shards(3, checkpoint_root=root))
    ptf.checkpoint.restore("now", cluster=three)
    other = model_on(three)
    other.layers[-1].set_weights(model.layers[-1].get_weights())
    ptf.Table(table, three).remove(np.arange(20))
    train(other, range(80, 200))
    with ptf.serving.Follower(serving, three) as follower:
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, other, table, three)


@pytest.mark.parametrize("before", ["a worker", "replicas"])
def test_what_stands_before_shards_is_followed(
    start_shards, start_worker, start_replicas, model_on, loaded, table, before
):
    cluster = cluster_of(start_shards(3))
    model = model_on(cluster)
    train(model, range(60))
    serving = loaded(model)
    if before == "a worker":
        addresses = [start_worker(cluster.shards)]
    else:
        addresses = start_replicas(cluster.shards)
    train(model, range(40, 90))
    ptf.Table(table, cluster).remove(np.arange(10))
    with ptf.serving.Follower(serving, ptf.Cluster(addresses, timeout=20)) as follower:
        # Replicas follow the shards themselves, so they are behind.
        wait_until(
            lambda: rows_of_export(serving, table) == rows_of_shards(table, cluster),
            "the rows of now",
        )
        follower.wait_until_current(SECONDS)
        assert len(follower.status.shards) == 3
        assert_is_as_trained(serving, model, table, cluster)


def test_an_export_after_a_checkpoint_is_told_what_changed_since(
    start_shards, model_on, loaded, table, tmp_path
):
    cluster = cluster_of(start_shards(2, checkpoint_root=str(tmp_path / "saved")))
    model = model_on(cluster)
    train(model, range(1000))
    ptf.checkpoint.save("hourly", cluster=cluster)
    train(model, range(10))
    serving = loaded(model)
    train(model, range(5, 20))
    ptf.Table(table, cluster).remove(np.arange(100, 110))
    with ptf.serving.Follower(serving, cluster) as follower:
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, model, table, cluster)
        shards = follower.status.shards
    assert sum(shard.rows for shard in shards) == 20
    assert sum(shard.erased for shard in shards) == 10


def test_a_shard_that_was_away_is_caught_up_with(
    shard_process, model_on, loaded, table, tmp_path
):
    folder = str(tmp_path / "recovery")
    shard = shard_process(options=["--recovery-folder", folder, "--recovery", "log"])
    cluster = ptf.Cluster([shard.address], timeout=20)
    model = model_on(cluster)
    train(model, range(50))
    serving = loaded(model)
    with ptf.serving.Follower(serving, cluster) as follower:
        follower.wait_until_current(SECONDS)
        before = rows_of_export(serving, table)
        shard.kill()
        with pytest.raises(ptf.errors.DeadlineExceededError, match=shard.address):
            follower.wait_until_current(0.2)
        assert rows_of_export(serving, table) == before
        shard.start()
        train(model, range(30, 80))
        follower.wait_until_current(SECONDS)
        assert_is_as_trained(serving, model, table, cluster)


def test_changes_that_were_spoilt_on_the_way_are_told_again(
    start_shards, start_proxies, model_on, loaded, table
):
    cluster = cluster_of(start_shards(1))
    model = model_on(cluster)
    train(model, range(50))
    serving = loaded(model)
    [proxy] = start_proxies(
        cluster.shards, faults=Faults(seed=1, mean_bytes=2000, kinds=("corrupt",))
    )
    through = ptf.Cluster([proxy.address], timeout=20)
    with ptf.serving.Follower(serving, through, poll_seconds=0.001) as follower:
        for first in range(0, 300, 10):
            train(model, range(first, first + 20))
            follower.wait_until_current(SECONDS)
    assert_is_as_trained(serving, model, table, cluster)
    proxy.cut()
    assert proxy.faulty_connections > 0


def test_rows_of_another_size_are_told_and_the_model_serves_on(
    start_shards, model_on, loaded, table
):
    first, second = (cluster_of(start_shards(1)) for _ in range(2))
    model = model_on(first)
    train(model, range(50))
    serving = loaded(model)
    train(model_on(second, dim=DIM + 1), range(50))
    with ptf.serving.Follower(serving, second) as follower:
        with pytest.raises(ptf.errors.DeadlineExceededError, match="export the model"):
            follower.wait_until_current(2.0)
        assert_is_as_trained(serving, model, table, first)


def test_what_is_no_export_is_refused(start_shards, tmp_path):
    module = tf.Module()
    module.weight = tf.Variable(1.0)
    tf.saved_model.save(module, str(tmp_path))
    cluster = cluster_of(start_shards(1))
    with pytest.raises(ValueError, match="`model` must be.*export"):
        ptf.serving.Follower(tf.saved_model.load(str(tmp_path)), cluster)


def test_a_second_one_of_a_model_is_refused_until_the_first_is_closed(
    start_shards, model_on, loaded
):
    cluster = cluster_of(start_shards(1))
    serving = loaded(model_on(cluster))
    with ptf.serving.Follower(serving, cluster):
        with pytest.raises(ValueError, match="`model` is followed already: close"):
            ptf.serving.Follower(serving, cluster)
    with ptf.serving.Follower(serving, cluster) as follower:
        follower.wait_until_current(SECONDS)


def test_one_that_is_closed_twice_does_not_free_the_next_ones_model(
    start_shards, model_on, loaded
):
    cluster = cluster_of(start_shards(1))
    serving = loaded(model_on(cluster))
    first = ptf.serving.Follower(serving, cluster)
    first.close()
    with ptf.serving.Follower(serving, cluster):
        first.close()
        with pytest.raises(ValueError, match="`model` is followed already: close"):
            ptf.serving.Follower(serving, cluster)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
def test_pauses_must_be_above_zero(start_shards, model_on, loaded, seconds):
    cluster = cluster_of(start_shards(1))
    with pytest.raises(ValueError, match="poll_seconds"):
        ptf.serving.Follower(loaded(model_on(cluster)), cluster, poll_seconds=seconds)
