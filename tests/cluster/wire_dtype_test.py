"""Training works with rows and gradients that are sent in fewer bits."""

import random

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DTYPES = ["float32", "float16", "bfloat16", "int8", "int4"]
# The most that a round trip may change, relative to a row's largest number.
PRECISION = {
    "float32": 1e-6,
    "float16": 1e-3,
    "bfloat16": 1e-2,
    "int8": 1e-2,
    "int4": 1 / 14,
}
IDS = np.arange(100, dtype="int64")


@pytest.fixture
def cluster_of_dtype(start_shards):
    """Makes clusters, each of shards of its own."""

    def make(wire_dtype):
        addresses = [shard.address for shard in start_shards(2)]
        return ptf.Cluster(addresses, timeout=20, staleness=0, wire_dtype=wire_dtype)

    return make


def layer_of(table, cluster, dim=8, learning_rate=1.0, initializer="zeros"):
    return ptf.layers.PersiaEmbedding(
        dim,
        table=table,
        cluster=cluster,
        embeddings_initializer=initializer,
        optimizer=ptf.optimizers.SGD(learning_rate),
    )


def push(layer, ids, gradients):
    """Makes one step in which the rows of `ids` get these gradients."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant(ids), training=True) * gradients)
    variables = layer.trainable_variables
    keras.optimizers.SGD().apply_gradients(
        zip(tape.gradient(loss, variables), variables)
    )


def rows_of(table, cluster):
    """The rows in float32: exports always send rows so."""
    pages = list(ptf.Table(table, cluster=cluster).export())
    ids = np.concatenate([page.ids for page in pages])
    return np.concatenate([page.rows for page in pages])[np.argsort(ids)]


@pytest.mark.parametrize("wire_dtype", DTYPES)
def test_every_dtype_trains(table, cluster_of_dtype, wire_dtype):
    keras.utils.set_random_seed(3)
    inputs = keras.Input(shape=(), dtype="int64")
    cluster = cluster_of_dtype(wire_dtype)
    vectors = layer_of(table, cluster, learning_rate=2.0, initializer="uniform")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    labels = np.sin(IDS)[:, None].astype("float32")
    before = model.evaluate(IDS, labels, batch_size=20, verbose=0)
    model.fit(IDS, labels, batch_size=20, epochs=10, shuffle=False, verbose=0)
    after = model.evaluate(IDS, labels, batch_size=20, verbose=0)
    assert after < 0.5 * before


@pytest.mark.parametrize("wire_dtype", DTYPES)
def test_what_a_dtype_may_lose_of_rows_and_gradients(
    table, cluster_of_dtype, wire_dtype
):
    cluster = cluster_of_dtype(wire_dtype)
    layer = layer_of(table, cluster)
    layer.build((None,))
    values, gradients = np.random.default_rng(1).normal(size=(2, 100, 8))
    values = values.astype("float32")
    ptf.Table(table, cluster=cluster).assign(IDS, values)
    seen = layer(tf.constant(IDS)).numpy()
    push(layer, IDS, gradients)
    held = rows_of(table, cluster)
    stepped = values - gradients.astype("float32")
    for got, meant in ((seen, values), (held, stepped)):
        largest = np.abs(meant).max()
        np.testing.assert_allclose(got, meant, atol=PRECISION[wire_dtype] * largest)
        # If rows were not rounded, the dtype was not used.
        assert np.array_equal(got, meant) == (wire_dtype == "float32")


# Ids that are packed to 1, 4 and 7 bytes, also from the ends of 64 bits, and ids that
# are sent as they are.
@pytest.mark.parametrize(
    ("least", "most"),
    [
        *((5, 140), (-1, 2**32 - 2), (-(2**63), -(2**63) + 2**56 - 1)),
        *((2**63 - 200, 2**63 - 1), (-(2**63), 2**63 - 1)),
    ],
)
@pytest.mark.parametrize("wire_dtype", ["float32", "bfloat16", "int4"])
def test_each_id_gets_its_own_row_and_gradient(
    table, cluster_of_dtype, wire_dtype, least, most
):
    cluster = cluster_of_dtype(wire_dtype)
    layer = layer_of(table, cluster)
    layer.build((None,))
    draw = random.Random(1)
    ids = np.array([most, least, *(draw.randint(least, most) for _ in range(98))])
    ids = np.unique(ids.astype("int64"))
    np.random.default_rng(1).shuffle(ids)
    # Numbers that every dtype has.
    values = np.repeat(np.arange(len(ids), dtype="float32")[:, None] - 50, 8, axis=1)
    ptf.Table(table, cluster=cluster).assign(ids, values)
    np.testing.assert_allclose(layer(tf.constant(ids)), values, rtol=0.01)
    # Each id's gradient takes its row to 0.
    push(layer, ids, values)
    pages = list(ptf.Table(table, cluster=cluster).export())
    assert {int(one) for page in pages for one in page.ids} == set(ids.tolist())
    for page in pages:
        np.testing.assert_allclose(page.rows, 0, atol=0.5)


@pytest.mark.parametrize("magnitude", [1e-9, 1e-20, 1e9])
@pytest.mark.parametrize("wire_dtype", DTYPES)
def test_gradients_of_any_magnitude_survive(
    table, cluster_of_dtype, wire_dtype, magnitude
):
    cluster = cluster_of_dtype(wire_dtype)
    draw = np.random.default_rng(2)
    factors = draw.uniform(0.5, 1.0, (100, 8)).astype("float32")
    gradients = factors * np.float32(magnitude)
    push(layer_of(table, cluster, learning_rate=1 / magnitude), IDS, gradients)
    np.testing.assert_allclose(
        rows_of(table, cluster), -factors, rtol=2 * PRECISION[wire_dtype]
    )


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("wire_dtype", DTYPES)
def test_a_gradient_that_is_not_finite_is_skipped_alone(
    table, cluster_of_dtype, wire_dtype, value
):
    cluster = cluster_of_dtype(wire_dtype)
    gradients = np.ones((100, 8), "float32")
    gradients[[7, 42], [0, 5]] = value
    push(layer_of(table, cluster), IDS, gradients)
    expected = -np.ones((100, 8), "float32")
    expected[[7, 42]] = 0
    np.testing.assert_allclose(
        rows_of(table, cluster), expected, atol=PRECISION[wire_dtype]
    )
    assert cluster.session.counters()["gradients_nonfinite"] == 2


def bytes_of_steps(table, cluster, dim, ids, steps):
    """The bytes in and out, headers included, of training steps of all ids."""
    layer = layer_of(f"{table}_{cluster.wire_dtype}_{dim}", cluster, dim)
    layer.build((None,))
    gradients = np.ones((len(ids), dim), "float32")
    before = ptf.metrics()
    for _ in range(steps):
        push(layer, ids, gradients)
    cluster.flush()
    after = ptf.metrics()
    return [after[name] - before[name] for name in ("bytes_in", "bytes_out")]


def test_a_smaller_dtype_takes_fewer_bytes(table, cluster_of_dtype):
    dim, steps = 128, 10
    numbers = len(IDS) * dim * steps
    # Besides the numbers, ids are sent, and little else.
    rest = 2 * 8 / dim + 0.1
    for wire_dtype, size in zip(DTYPES, (4, 2, 2, 1, 0.5)):
        for taken in bytes_of_steps(
            table, cluster_of_dtype(wire_dtype), dim, IDS, steps
        ):
            assert size <= taken / numbers < size + rest


# In a lookup and an update, each id takes 8 bytes with float32. With int4 it takes as
# many bytes as all ids of the table need.
@pytest.mark.parametrize(
    ("dim", "id_bits", "least"),
    [
        *((16, 16, 5.8), (16, 32, 5.0), (16, 63, 3.9)),
        *((32, 16, 6.6), (32, 32, 6.0), (32, 63, 5.1)),
        *((64, 32, 6.7), (64, 63, 6.0), (128, 63, 6.9)),
    ],
)
def test_how_many_times_fewer_bytes_int4_takes(
    table, cluster_of_dtype, dim, id_bits, least
):
    ids = np.linspace(0, 2**id_bits - 2**11, 1000, dtype="int64")
    plain, int4 = (
        sum(bytes_of_steps(table, cluster_of_dtype(dtype), dim, ids, steps=3))
        for dtype in ("float32", "int4")
    )
    assert plain / int4 >= least


# ---- Error feedback ----


def test_gradients_far_below_a_step_are_not_lost_with_int4(table, cluster_of_dtype):
    cluster = cluster_of_dtype("int4")
    layer = layer_of(table, cluster)
    # In each row, one number is so large that the others are sent as 0.
    gradients = np.full((100, 8), 0.01, "float32")
    gradients[:, 3] = 1
    for _ in range(50):
        push(layer, IDS, gradients)
    # Half a step of the last sums is still to be sent.
    np.testing.assert_allclose(
        rows_of(table, cluster), -50 * gradients, atol=1.1 * PRECISION["int4"]
    )
    assert cluster.session.counters()["feedback_ids"] == len(IDS)
