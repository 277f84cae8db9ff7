"""Exports that ask shards, while these shards cannot be reached."""

import numpy as np
import pytest
import stream_faults
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

IDS = np.arange(100)
TIMEOUT = 0.5


def rows_model(cluster, table):
    ids = keras.Input((), dtype="int64", name="ids")
    layer = ptf.layers.PersiaEmbedding(
        *(4,),
        table=table,
        cluster=cluster,
        embeddings_initializer=keras.initializers.RandomNormal(seed=1),
    )
    model = keras.Model(ids, layer(ids))
    model(IDS, training=True)
    ptf.flush()
    return model


def exported(model, path, **options):
    remote = ptf.serving.Remote(timeout=TIMEOUT, **options)
    ptf.serving.export(model, path, mode="remote", remote=remote)
    serve = tf.saved_model.load(path).signatures["serving_default"]

    def ask():
        [rows] = serve(ids=tf.constant(IDS)).values()
        return rows.numpy()

    return ask


def stats_of(addresses):
    [found] = [
        stats
        for stats in ptf.serving.remote_stats()
        if list(stats.addresses) == addresses
    ]
    return found


@pytest.fixture
def shards(shard_process):
    return [shard_process(), shard_process()]


@pytest.fixture
def model(shards, table):
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
    return rows_model(cluster, table)


def test_a_killed_shard_is_named(model, shards, path):
    ask = exported(model, path)
    ask()
    shards[1].kill()
    # TensorFlow turns an op's UNAVAILABLE into INTERNAL.
    told = f"{shards[1].address}\\) did not answer within"
    with pytest.raises(tf.errors.InternalError, match=told):
        ask()
    stats = stats_of([shard.address for shard in shards])
    assert stats.failures == 1
    assert stats.zeros == 0


def test_a_killed_shards_rows_may_be_zeros(model, shards, path):
    ask = exported(model, path, on_failure="default")
    before = ask()
    assert np.abs(before).min(axis=1).all()
    shards[1].kill()
    after = ask()
    lost = ~after.any(axis=1)
    assert 20 < lost.sum() < 80
    np.testing.assert_array_equal(after[~lost], before[~lost])
    stats = stats_of([shard.address for shard in shards])
    assert stats.failures == 1
    assert stats.zeros == lost.sum()


def test_without_any_shard_all_rows_may_be_zeros(model, shards, path):
    ask = exported(model, path, on_failure="default")
    for shard in shards:
        shard.kill()
    assert not ask().any()
    assert stats_of([shard.address for shard in shards]).zeros == len(IDS)


def test_copies_answer_for_a_killed_shard(model, shards, path):
    ask = exported(model, path, hot_rows=1000, hot_seconds=3600)
    before = ask()
    for shard in shards:
        shard.kill()
    np.testing.assert_array_equal(ask(), before)


def test_a_refusal_is_an_error_all_the_same(model, shards, path):
    ask = exported(model, path, on_failure="default")
    shards[1].kill()
    shards[1].start()  # Without its tables.
    with pytest.raises(tf.errors.NotFoundError, match=shards[1].address):
        ask()


@pytest.mark.parametrize("on_failure", ["error", "default"])
def test_a_shard_that_never_answers(
    start_shards, start_proxies, table, path, on_failure, monkeypatch
):
    shards = start_shards(2)
    cluster = ptf.Cluster([shard.address for shard in shards], timeout=20)
    model = rows_model(cluster, table)
    expected = np.asarray(model(IDS))
    [silent] = start_proxies(
        [shards[1].address],
        faults=stream_faults.Faults(seed=1, mean_bytes=1, kinds=[stream_faults.DROP]),
    )
    addresses = [shards[0].address, silent.address]
    ask = exported(model, path, on_failure=on_failure)
    monkeypatch.setenv("PERSIA_PS", ",".join(addresses))
    if on_failure == "error":
        with pytest.raises(tf.errors.DeadlineExceededError, match=silent.address):
            ask()
    else:
        found = ask()
        lost = ~found.any(axis=1)
        assert lost.any() and not lost.all()
        np.testing.assert_array_equal(found[~lost], expected[~lost])
    stats = stats_of(addresses)
    assert stats.failures == 1
    # Not before the deadline; the machine's load decides how long after it.
    assert sum(stats.latencies) == 1
    assert sum(stats.latencies[:19]) == 0
