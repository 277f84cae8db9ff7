"""Bags: where they are pooled changes the bytes sent, and nothing else."""

import numpy as np
import pytest
import tcp_proxy
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

BATCH, LENGTH, DIM = 32, 16, 8
RANDOM = np.random.default_rng(0)
# Ids so few that they come again in later steps, and so many that bags are fewer.
IDS = RANDOM.integers(-1000, 1000, (6 * BATCH, LENGTH))
IDS[RANDOM.random(IDS.shape) < 0.2] = 0
IDS[:3] = 0
LABELS = IDS.sum(axis=1, keepdims=True).astype("float32") / 10_000
COMBINERS = ["sum", "mean", "sqrtn"]


@pytest.fixture
def start_cluster(start_shards, start_worker):
    """Starts shards, and workers in front; gives a cluster of those in front."""

    def start(shards, workers=0, cache_rows=0, **options):
        front = [shard.address for shard in start_shards(shards)]
        if workers:
            front = [start_worker(front, cache_rows=cache_rows) for _ in range(workers)]
        return ptf.Cluster(front, timeout=20, **{"staleness": 0, **options})

    return start


def make_model(table, cluster, ragged=False, **options):
    keras.utils.set_random_seed(7)
    inputs = keras.Input(
        shape=(None,) if ragged else (LENGTH,), dtype="int64", ragged=ragged
    )
    vectors = ptf.layers.PersiaEmbedding(
        DIM,
        table=table,
        cluster=cluster,
        optimizer=ptf.optimizers.Adam(0.01),
        **options,
    )(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("adam", "mse")
    return model


def train(table, cluster, rows_of, prefetched=False, ragged=False, **options):
    """Trains; gives the losses, and every row with its state, by id."""
    model = make_model(table, cluster, ragged, **options)
    ids = IDS
    if ragged:
        ids = tf.RaggedTensor.from_tensor(IDS, padding=0)
    dataset = tf.data.Dataset.from_tensor_slices((ids, LABELS)).batch(BATCH)
    fitted = ptf.data.prefetch(dataset, model, staleness=0) if prefetched else dataset
    losses = model.fit(fitted, epochs=2, verbose=0).history["loss"]
    losses.append(model.evaluate(dataset, verbose=0))
    return losses, rows_of(table, cluster)


def check_same(trained, expected):
    losses, rows = trained
    expected_losses, expected_rows = expected
    assert losses == expected_losses
    assert rows.keys() == expected_rows.keys()
    for row_id, row in expected_rows.items():
        np.testing.assert_array_equal(rows[row_id], row)


def bytes_of_a_step(cluster, take_step):
    """The bytes received and sent in one more step."""
    take_step()
    before = cluster.session.counters()
    take_step()
    after = cluster.session.counters()
    return [after[name] - before[name] for name in ("bytes_in", "bytes_out")]


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("input_kind", ["dense", "masked", "ragged"])
def test_a_worker_pools_to_the_same_rows_bit_for_bit(
    table, start_cluster, rows_of, combiner, input_kind
):
    options = {
        "combiner": combiner,
        "mask_zero": input_kind == "masked",
        "ragged": input_kind == "ragged",
    }
    expected = train(table, start_cluster(2), rows_of, **options)
    trained = train(table, start_cluster(2, workers=1), rows_of, **options)
    check_same(trained, expected)
    assert (0 in trained[1]) == (input_kind != "masked")


@pytest.mark.parametrize(
    "setup",
    [
        {"shards": 1},
        {"shards": 2, "workers": 1, "cache_rows": 100},
        {"shards": 2, "workers": 2, "cache_rows": 100},
        {"shards": 2, "workers": 1, "hot_rows": 100},
    ],
    ids=lambda setup: "-".join(f"{value}_{name}" for name, value in setup.items()),
)
@pytest.mark.parametrize("prefetched", [False, True])
def test_whoever_pools_trains_the_same(
    table, start_cluster, rows_of, setup, prefetched
):
    expected = train(table, start_cluster(2), rows_of, combiner="mean")
    cluster = start_cluster(**setup)
    trained = train(table, cluster, rows_of, combiner="mean", prefetched=prefetched)
    check_same(trained, expected)
    hits = cluster.session.counters()["prefetch_hits"]
    assert (hits > 0) == prefetched


@pytest.mark.parametrize(
    "setup",
    [{"shards": 1}, {"shards": 2, "workers": 1}],
    ids=["1 shard", "1 worker"],
)
def test_bytes_are_fewer_as_the_bags_are_long(table, start_cluster, setup):
    def step_of(cluster):
        model = make_model(table, cluster, combiner="sum")
        ids = np.arange(BATCH * LENGTH).reshape(BATCH, LENGTH)

        def step():
            model.train_on_batch(ids, LABELS[:BATCH])
            cluster.flush()

        return bytes_of_a_step(cluster, step)

    rows_in, rows_out = step_of(start_cluster(2))
    bags_in, bags_out = step_of(start_cluster(**setup))
    vectors = BATCH * DIM * 4
    assert rows_in >= LENGTH * vectors
    assert vectors <= bags_in < rows_in / LENGTH * 1.5
    # Ids go with the lookup and with the update.
    ids = 2 * 8 * BATCH * LENGTH
    assert rows_out >= ids + LENGTH * vectors
    assert bags_out < ids + 2 * vectors


def test_bytes_are_no_more_where_ids_repeat(table, start_cluster):
    def step_of(cluster):
        model = make_model(table, cluster, combiner="sum")
        ids = np.zeros((BATCH, LENGTH), "int64")

        def step():
            model.train_on_batch(ids, LABELS[:BATCH])
            cluster.flush()

        return bytes_of_a_step(cluster, step)

    bytes_in, bytes_out = step_of(start_cluster(2, workers=1))
    assert bytes_in + bytes_out < BATCH * DIM * 4  # One row and its gradient.


def test_layers_that_share_a_table_step_its_rows_once(table, start_cluster):
    def train_both(cluster):
        ids = keras.Input(shape=(LENGTH,), dtype="int64")
        one, other = (
            ptf.layers.PersiaEmbedding(
                DIM, table=table, cluster=cluster, combiner=combiner
            )(ids)
            for combiner in ("sum", "mean")
        )
        model = keras.Model(ids, one + other)
        model.compile("sgd", "mse")
        targets = np.ones((BATCH, DIM), "float32")
        for _ in range(3):
            model.train_on_batch(IDS[:BATCH], targets)
        cluster.flush()
        return ptf.Table(table, cluster=cluster).lookup(np.unique(IDS[:BATCH]))

    expected = train_both(start_cluster(2))
    np.testing.assert_array_equal(train_both(start_cluster(2, workers=1)), expected)


def test_a_gradient_that_is_not_finite_skips_the_rows_of_its_bag(table, start_cluster):
    def train_one(cluster):
        layer = ptf.layers.PersiaEmbedding(
            DIM,
            table=table,
            cluster=cluster,
            combiner="sum",
            embeddings_initializer="ones",
            optimizer=ptf.optimizers.SGD(1.0),
        )
        ids = tf.reshape(tf.range(4 * LENGTH, dtype=tf.int64), (4, LENGTH))
        factors = tf.constant([[1.0], [float("nan")], [2.0], [0.0]])
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True) * factors)
        optimizer = keras.optimizers.SGD()
        variables = layer.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        cluster.flush()
        rows = ptf.Table(table, cluster=cluster).lookup(np.arange(4 * LENGTH))
        return rows, cluster.session.counters()

    for setup in ({"shards": 2}, {"shards": 2, "workers": 1}):
        rows, counters = train_one(start_cluster(**setup))
        by_bag = rows.reshape(4, -1)
        np.testing.assert_array_equal(by_bag[:, 0], [0, 1, -1, 1])
        np.testing.assert_array_equal(by_bag, by_bag[:, :1].repeat(LENGTH * DIM, 1))
        assert (
            counters["gradients_nonfinite"] == LENGTH
            and counters["gradients_absent"] == 0
        )


@pytest.mark.parametrize("staleness", [None, 4], ids=["plain", "prefetched"])
def test_bad_connections_lose_and_repeat_no_update_of_bags(
    table, start_shards, start_worker, start_proxies, rows_of, counting_model, staleness
):
    shards = [shard.address for shard in start_shards(2)]
    cuts = tcp_proxy.Cuts(seed=1, mean_bytes=4000, hold=0.001)
    worker = start_worker(shards, cache_rows=20)
    [proxy] = start_proxies([worker], delay=0.0005, cuts=cuts)
    cluster = ptf.Cluster([proxy.address], timeout=20, staleness=4)
    counting = counting_model([table], cluster, steps=300, bag=4)
    counting.fit(staleness=staleness)
    cluster.flush()
    counters = cluster.session.counters()
    assert counters["reconnects"] >= 10 and counters["gradients_absent"] == 0
    assert counters["staleness_max"] <= 4
    assert rows_of(table, cluster) == counting.counts


@pytest.mark.parametrize("wire_dtype", ["float16", "bfloat16", "int8"])
def test_vectors_travel_as_the_wire_dtype_says(
    table, start_cluster, rows_of, wire_dtype
):
    losses, _ = train(table, start_cluster(2), rows_of, combiner="sum")
    short = start_cluster(2, workers=1, wire_dtype=wire_dtype)
    short_losses, _ = train(table, short, rows_of, combiner="sum")
    np.testing.assert_allclose(short_losses, losses, rtol=0.05)
