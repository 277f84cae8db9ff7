"""An embedding worker between a training program and two shards."""

import contextlib

import numpy as np
import pytest
import tcp_proxy
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(0, 200, (320, 3))
LABELS = IDS.sum(axis=1, keepdims=True).astype("float32") / 600


def addresses_of(servers):
    return [server.address for server in servers]


def cluster_of(addresses, timeout=20, **options):
    return ptf.Cluster(addresses, timeout=timeout, **{"staleness": 0, **options})


def make_model(table, cluster):
    keras.utils.set_random_seed(7)
    inputs = keras.Input(shape=(3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, optimizer=ptf.optimizers.Adam(0.01)
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.Flatten()(vectors)))
    model.compile("adam", "mse")
    return model


def train(table, cluster, rows_of):
    """Trains; gives the losses, and every row with its state, by id."""
    model = make_model(table, cluster)
    history = model.fit(
        IDS, LABELS, batch_size=32, epochs=2, shuffle=False, verbose=0
    ).history["loss"]
    losses = [*history, model.evaluate(IDS, LABELS, batch_size=32, verbose=0)]
    return losses, rows_of(table, cluster)


def check_same(trained, expected):
    losses, rows = trained
    expected_losses, expected_rows = expected
    assert losses == expected_losses
    assert rows.keys() == expected_rows.keys() == set(np.unique(IDS))
    for row_id, row in expected_rows.items():
        np.testing.assert_array_equal(rows[row_id], row)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("cache_rows", [0, 50])
def test_training_through_workers_makes_the_same_rows(
    table, start_shards, start_worker, rows_of, workers, cache_rows
):
    expected = train(table, cluster_of(addresses_of(start_shards(2))), rows_of)
    shards = addresses_of(start_shards(2))
    through = cluster_of(
        [start_worker(shards, cache_rows=cache_rows) for _ in range(workers)]
    )
    check_same(train(table, through, rows_of), expected)


@pytest.mark.parametrize("staleness", [None, 4], ids=["plain", "prefetched"])
def test_bad_connections_before_and_behind_a_worker_lose_and_repeat_no_update(
    table, start_shards, start_worker, start_proxies, rows_of, counting_model, staleness
):
    shards = start_shards(2)
    behind, before = (
        tcp_proxy.Cuts(seed=seed, mean_bytes=4000, hold=0.001) for seed in (1, 2)
    )
    far = addresses_of(start_proxies(addresses_of(shards), delay=0.0005, cuts=behind))
    worker = start_worker(far, cache_rows=20)
    proxies = start_proxies([worker], delay=0.0005, cuts=before)
    cluster = cluster_of(addresses_of(proxies), staleness=4)
    counting = counting_model([table], cluster, steps=300)
    counting.fit(staleness=staleness)
    cluster.flush()
    counters = cluster.session.counters()
    assert counters["reconnects"] >= 10 and counters["gradients_absent"] == 0
    assert counters["staleness_max"] <= 4
    direct = cluster_of(addresses_of(shards))
    assert sum(each.repeated_updates for each in direct.stats()) > 0
    assert rows_of(table, direct) == counting.counts


@pytest.mark.parametrize("staleness", [None, 4], ids=["plain", "prefetched"])
def test_a_trainer_that_changes_its_worker_loses_and_repeats_no_update(
    table, start_shards, start_worker, start_proxies, rows_of, counting_model, staleness
):
    """As behind one address of several workers, whenever a connection is lost."""
    shards = addresses_of(start_shards(2))
    first, *others = (start_worker(shards) for _ in range(3))
    cuts = tcp_proxy.Cuts(seed=1, mean_bytes=4000, hold=0.001)
    [proxy] = start_proxies([first], others=others, cuts=cuts)
    counting = counting_model(
        [table], cluster_of([proxy.address], staleness=4), steps=300
    )
    counting.fit(staleness=staleness)
    ptf.flush()
    assert proxy.connections >= 10
    direct = cluster_of(shards)
    assert sum(each.repeated_updates for each in direct.stats()) > 0
    assert rows_of(table, direct) == counting.counts


def test_copies_of_a_worker_serve_steps_that_may_be_stale(
    table, start_shards, start_worker, start_proxies, rows_of, counting_model
):
    far = addresses_of(start_proxies(addresses_of(start_shards(2)), delay=0.002))
    cluster = cluster_of([start_worker(far, cache_rows=1000)], staleness=4)
    counting = counting_model([table], cluster, steps=100)
    assert 0 < counting.worst_lag() <= 4
    cluster.flush()
    worker = cluster.stats()[0]
    copies = worker.tables[0]
    assert 0 < copies.rows_found < copies.rows_looked_up
    assert cluster.session.counters()["staleness_max"] <= 4
    assert rows_of(table, cluster) == counting.counts


def test_copies_of_a_worker_serve_no_synchronous_step(
    table, start_shards, start_worker, rows_of, counting_model
):
    worker = start_worker(addresses_of(start_shards(2)), cache_rows=1000)
    cluster = cluster_of([worker])
    counting = counting_model([table], cluster, steps=100)
    assert counting.worst_lag() == 0
    assert cluster.stats()[0].tables[0].rows_found == 0
    assert rows_of(table, cluster) == counting.counts


@pytest.mark.parametrize("wire_dtype", ["float16", "bfloat16", "int8"])
def test_a_wire_dtype_holds_between_trainer_and_worker(
    table, start_shards, start_worker, rows_of, wire_dtype
):
    plain, short = (
        cluster_of(
            [start_worker(addresses_of(start_shards(2)))],
            wire_dtype=dtype,
        )
        for dtype in ("float32", wire_dtype)
    )
    losses, rows = train(table, plain, rows_of)
    short_losses, short_rows = train(table, short, rows_of)
    np.testing.assert_allclose(short_losses, losses, rtol=0.05)
    assert short_rows.keys() == rows.keys()
    sent = [each.session.counters()["bytes_in"] for each in (short, plain)]
    assert sent[0] < sent[1]  # One or two bytes per number, and not four.


def test_the_worker_tells_of_itself_and_then_of_its_shards(
    table, start_shards, start_worker
):
    shards = start_shards(2)
    address = start_worker(addresses_of(shards))
    cluster = cluster_of([address])
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    layer(tf.constant([1, 2, 3], tf.int64), training=True)
    worker, *behind = cluster.stats()
    assert worker.address == address
    assert worker.lookups == 1
    assert [each.address for each in behind] == addresses_of(shards)
    assert sum(each.tables[0].rows for each in behind) == 3


@pytest.mark.parametrize("cache_rows", [0, 50])
def test_a_table_counts_the_rows_of_the_shards_alone(
    table, start_shards, start_worker, cache_rows
):
    shards = addresses_of(start_shards(2))
    cluster = cluster_of([start_worker(shards, cache_rows=cache_rows)])
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster)
    layer(tf.constant([1, 2, 3], tf.int64), training=True)
    assert len(ptf.Table(table, cluster=cluster)) == 3


def test_rows_behind_several_workers_are_given_once(
    table, start_shards, start_worker, rows_of
):
    shards = addresses_of(start_shards(2))
    workers = [start_worker(shards) for _ in range(2)]
    layer = ptf.layers.PersiaEmbedding(2, table=table, cluster=cluster_of(workers))
    layer(tf.range(100, dtype=tf.int64), training=True)
    # The program with the second of these clusters made no table.
    for cluster in (cluster_of(workers), cluster_of(workers, timeout=21)):
        assert len(ptf.Table(table, cluster=cluster)) == 100
        assert rows_of(table, cluster).keys() == set(range(100))


def test_a_table_that_is_nowhere_is_not_found(start_shards, start_worker):
    cluster = cluster_of([start_worker(addresses_of(start_shards(1)))])
    with pytest.raises(errors.NotFoundError, match="no table 'absent'"):
        len(ptf.Table("absent", cluster=cluster))


def test_a_shard_that_dies_behind_a_worker_is_named(table, start_shards, start_worker):
    shards = start_shards(2)
    cluster = cluster_of([start_worker(addresses_of(shards), timeout=1.0)], timeout=20)
    model = make_model(table, cluster)
    dead = shards[1].address

    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 3:
                shards[1].stop()

    with pytest.raises(tf.errors.OpError, match=dead):
        model.fit(IDS, LABELS, batch_size=8, verbose=0, callbacks=[Stop()])
    with contextlib.suppress(errors.PersiaError):
        cluster.flush()  # Ends pushes that failed after the step that raised.
