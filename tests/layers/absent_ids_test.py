"""What layers give for ids without a row outside training, by `absent`."""

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.layers.absent_ids import AbsentIds

DIM = 4
COMBINERS = [None, "sum", "mean", "sqrtn"]
KNOWN = np.arange(1, 41).reshape(10, 4)
MIXED = np.array([[1, 2, 100, 101], [102, 103, 102, 3], [-5, 2**40, 7, 8]])
DIVISORS = {"sum": 1, "mean": 4, "sqrtn": 2}


@pytest.fixture
def make(table, cluster):
    """Makes layers on the test's table."""

    def of(absent="zeros", cluster=cluster, **options):
        return ptf.layers.PersiaEmbedding(
            *(DIM,),
            table=table,
            cluster=cluster,
            embeddings_initializer=keras.initializers.RandomUniform(0.1, 1, seed=1),
            optimizer=ptf.optimizers.SGD(1.0),
            absent=absent,
            **options,
        )

    return of


def look(layer, ids, **options):
    ptf.flush()
    return np.asarray(layer(tf.constant(ids, tf.int64), training=False, **options))


def learn_ids(layer, ids=KNOWN):
    """Gives ids rows."""
    layer(tf.constant(ids, tf.int64), training=True)


def set_oov(layer, weights):
    layer.rows.assign([ptf.layers.OOV_ID], np.full((1, DIM), weights, np.float32))


def pooled(rows, combiner):
    """Pools vectors of ids of rank 2."""
    if combiner is None:
        return rows
    return rows.sum(axis=1) / DIVISORS[combiner]


def rows_of(layer, ids, absent):
    """The expected vectors: `absent` where there is no row."""
    rows = layer.rows.lookup(ids.ravel()).reshape(*ids.shape, DIM)
    return np.where(rows.any(axis=-1, keepdims=True), rows, absent)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_zeros_are_the_default(make, combiner):
    layer = make(combiner=combiner)
    assert layer.absent == "zeros"
    learn_ids(layer)
    expected = pooled(rows_of(layer, MIXED, 0.0), combiner)
    np.testing.assert_allclose(look(layer, MIXED), expected, atol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_initial_values_are_those_that_training_would_make(make, combiner):
    layer = make("initial", combiner=combiner)
    learn_ids(layer)
    rows = len(layer.rows)
    before = look(layer, MIXED)
    assert len(layer.rows) == rows
    learn_ids(layer, MIXED)
    assert len(layer.rows) > rows
    np.testing.assert_allclose(look(layer, MIXED), before, atol=1e-6)
    assert before.any(axis=-1).all()


@pytest.mark.parametrize("combiner", COMBINERS)
def test_unknown_ids_share_a_row(make, combiner):
    layer = make("oov", combiner=combiner)
    learn_ids(layer)
    set_oov(layer, 7.0)
    rows = len(layer.rows)
    expected = pooled(rows_of(layer, MIXED, 7.0), combiner)
    np.testing.assert_allclose(look(layer, MIXED), expected, atol=1e-6)
    assert len(layer.rows) == rows


def test_a_known_row_of_zeros_is_no_unknown_one(make):
    layer = make("oov")
    layer.build((None,))
    layer.rows.assign([1], np.zeros((1, DIM), np.float32))
    set_oov(layer, 7.0)
    np.testing.assert_array_equal(look(layer, [1, 2])[:, 0], [0, 7])


def test_without_a_row_of_their_own_unknown_ids_give_zeros(make):
    layer = make("oov")
    layer.build((None,))
    np.testing.assert_array_equal(look(layer, [1, 2]), np.zeros((2, DIM)))


@pytest.mark.parametrize("wire_dtype", ["float32", "float16", "bfloat16", "int8"])
def test_absence_survives_every_wire_dtype(make, start_shards, wire_dtype):
    addresses = [shard.address for shard in start_shards(2)]
    cluster = ptf.Cluster(addresses, timeout=20, wire_dtype=wire_dtype)
    layers = [make(absent, cluster=cluster) for absent in ("oov", "initial")]
    learn_ids(layers[0])
    # A row beyond float16's range, next to rows that are marked as absent.
    layers[0].rows.assign([50], np.full((1, DIM), 1e6, np.float32))
    set_oov(layers[0], 4.0)
    np.testing.assert_allclose(
        look(layers[0], [1000, 50, 1001]),
        [[4] * DIM, [1e6] * DIM, [4] * DIM],
        rtol=0.01,
    )
    unknown = look(layers[1], [1000, 1001])
    learn_ids(layers[1], [1000, 1001])
    np.testing.assert_allclose(look(layers[1], [1000, 1001]), unknown, rtol=0.01)


@pytest.mark.parametrize("combiner", [None, "sum"])
@pytest.mark.parametrize("absent", ["initial", "oov"])
def test_embedding_workers_with_caches(
    make, start_shards, start_worker, absent, combiner
):
    shards = [shard.address for shard in start_shards(2)]
    worker = start_worker(shards, cache_rows=1000)
    layer = make(absent, cluster=ptf.Cluster([worker], timeout=20), combiner=combiner)
    zeros = make(cluster=layer.cluster, combiner=combiner)
    learn_ids(layer)
    if absent == "oov":
        set_oov(layer, 7.0)
    of_zeros = look(zeros, MIXED)
    first = look(layer, MIXED)
    np.testing.assert_array_equal(look(layer, MIXED), first)
    np.testing.assert_array_equal(look(zeros, MIXED), of_zeros)
    if absent == "oov":
        expected = pooled(rows_of(layer, MIXED, 7.0), combiner)
    else:
        learn_ids(layer, MIXED)
        expected = look(layer, MIXED)
    np.testing.assert_allclose(first, expected, atol=1e-6)


def test_replicas_that_serve(make, start_shards, start_replicas):
    shards = [shard.address for shard in start_shards(2)]
    trained = make("initial", cluster=ptf.Cluster(shards, timeout=20))
    learn_ids(trained)
    expected = look(trained, MIXED)
    replicas = ptf.Cluster(start_replicas(shards), timeout=20)

    def has_all():
        return KNOWN.size == sum(
            table.rows for shard in replicas.stats() for table in shard.tables
        )

    wait_until(has_all, "the replicas' rows")
    read = make("initial", cluster=replicas)
    np.testing.assert_array_equal(look(read, MIXED), expected)


@pytest.mark.parametrize("combiner", [None, "mean"])
def test_ragged_ids_and_strings(make, combiner):
    layer = make("oov", combiner=combiner, mask_zero=True)
    learn_ids(layer, [[1, 2]])
    set_oov(layer, 7.0)
    strings = tf.ragged.constant([["a", "b", ""], [], ["c"]])
    found = layer(strings, training=False)
    if combiner is None:
        np.testing.assert_array_equal(found.flat_values[:, 0], [7, 7, 0, 7])
    else:
        np.testing.assert_array_equal(np.asarray(found)[:, 0], [7, 0, 7])


def test_weights(make):
    layer = make("oov", combiner="sum")
    learn_ids(layer, [[1, 2]])
    set_oov(layer, 7.0)
    found = look(layer, [[100, 101]], weights=tf.constant([[0.5, 2.0]]))
    np.testing.assert_allclose(found, np.full((1, DIM), 17.5))


@pytest.mark.parametrize("combiner", [None, "sum"])
def test_padding_stays_padding(make, combiner):
    layer = make("oov", combiner=combiner, mask_zero=True, oov_rate=0.5)
    learn_ids(layer, np.zeros((64, 4), np.int64))
    assert not layer.rows.lookup([ptf.layers.OOV_ID]).any()
    layer.rows.remove([0])
    set_oov(layer, 7.0)
    found = look(layer, [[0, 0], [0, 100]])
    expected = [[0, 0], [0, 7]] if combiner is None else [0, 7]
    np.testing.assert_array_equal(found[..., 0], expected)


def test_compressed_ids(make):
    layer = make("initial", compression=ptf.compression.HashStack(1000))
    before = look(layer, MIXED)
    learn_ids(layer, MIXED)
    np.testing.assert_allclose(look(layer, MIXED), before, atol=1e-6)


def test_layers_on_one_table_may_choose_differently(make):
    layers = [make(absent) for absent in ("zeros", "initial", "oov")]
    learn_ids(layers[0])
    for layer in layers[1:]:
        layer.build((None,))
    set_oov(layers[0], 7.0)
    zeros, initial, oov = (look(layer, [100, 1]) for layer in layers)
    assert not zeros[0].any() and initial[0].all() and (oov[0] == 7).all()
    np.testing.assert_array_equal(zeros[1], initial[1])
    np.testing.assert_array_equal(zeros[1], oov[1])


def fit(layer, ids):
    """Trains the rows of ids towards 5 by one step."""
    given = keras.Input((), dtype="int64")
    model = keras.Model(given, layer(given))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    labels = np.full((*ids.shape, DIM), 5.0, np.float32)
    model.fit(ids, labels, batch_size=len(ids), verbose=0)
    ptf.flush()


def test_training_makes_the_row_of_unknown_ids(make):
    layer = make("oov", oov_rate=0.2)
    ids = np.arange(1, 501)
    before = look(make("initial"), [ptf.layers.OOV_ID])
    fit(layer, ids)
    replaced = 500 - (len(layer.rows) - 1)
    assert 60 < replaced < 140
    oov, unknown = look(layer, [ptf.layers.OOV_ID, 10**6])
    np.testing.assert_array_equal(oov, unknown)
    # The step is by the sum of their gradients.
    step = replaced * 2 / (500 * DIM)
    np.testing.assert_allclose(oov, (before + step * (5 - before))[0], rtol=1e-4)


def test_what_is_replaced_follows_from_ids_and_places(make):
    replacing = AbsentIds("oov", 0.1, leaves_zero=True)
    ids = tf.constant(np.random.default_rng(1).integers(0, 50, (200, 10)))
    replaced = replacing.replaced_in_training(ids) == ptf.layers.OOV_ID
    again = replacing.replaced_in_training(ids) == ptf.layers.OOV_ID
    np.testing.assert_array_equal(replaced, again)
    assert not replaced.numpy()[ids == 0].any()
    assert 0.07 < replaced.numpy().mean() < 0.13
    other = tf.tensor_scatter_nd_update(ids, [[3, 3]], [1000])
    others = replacing.replaced_in_training(other) == ptf.layers.OOV_ID
    assert (replaced.numpy() & others.numpy()).mean() < 0.03


def test_a_layer_that_chooses_another_replaces_nothing(make):
    layer = make("initial", oov_rate=0.5)
    learn_ids(layer)
    assert len(layer.rows) == KNOWN.size


def test_a_frozen_layer_reads(make):
    layer = make("oov", oov_rate=0.5)
    layer.trainable = False
    layer.build((None,))
    layer.rows.assign([1], np.ones((1, DIM), np.float32))
    set_oov(layer, 7.0)
    found = layer(tf.constant([1, 2, 3, 4] * 8, tf.int64), training=True)
    np.testing.assert_array_equal(found[:, 0], [1, 7, 7, 7] * 8)
    assert len(layer.rows) == 2


@pytest.mark.parametrize("combiner", [None, "sum"])
def test_prefetched_batches_are_found_in_training_and_outside(make, combiner):
    layer = make("oov", oov_rate=0.2, combiner=combiner)
    ids = np.random.default_rng(1).integers(1, 200, (320, 4))
    labels = np.ones((320, 4, DIM) if combiner is None else (320, DIM), np.float32)
    data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(32)
    given = keras.Input((4,), dtype="int64")
    model = keras.Model(given, layer(given))
    model.compile(keras.optimizers.SGD(0.01), "mse")
    plain = ptf.metrics()
    model.fit(ptf.data.prefetch(data, model), verbose=0)
    trained = ptf.metrics()
    assert trained["prefetch_hits"] > plain["prefetch_hits"]
    assert trained["lookup_requests"] - plain["lookup_requests"] < 2 * 10
    predicted = model.predict(ptf.data.prefetch(data, model), verbose=0)
    read = ptf.metrics()
    assert read["prefetch_hits"] > trained["prefetch_hits"]
    assert read["lookup_requests"] - trained["lookup_requests"] < 2 * 10
    np.testing.assert_array_equal(predicted, model.predict(data, verbose=0))


def test_it_is_of_the_layers_config(make, tmp_path):
    given = keras.Input((), dtype="int64")
    layer = make("oov", oov_rate=0.25)
    model = keras.Model(given, layer(given))
    again = type(layer).from_config(layer.get_config())
    assert (again.absent, again.oov_rate) == ("oov", 0.25)
    learn_ids(layer, [1, 2])
    set_oov(layer, 7.0)
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.models.load_model(path)
    np.testing.assert_array_equal(
        np.asarray(loaded(tf.constant([9], tf.int64))), [[7] * DIM]
    )


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"absent": "random"}, ValueError, "`absent` must be one of .*absent='random'"),
        (
            {"oov_rate": 0.0},
            ValueError,
            "`oov_rate` must be a number from .*oov_rate=0",
        ),
        ({"oov_rate": "a"}, TypeError, "`oov_rate` must be a number"),
        (
            {"absent": "oov", "compression": ptf.compression.HashStack(7)},
            ValueError,
            '`absent="oov"` cannot be combined with `compression`',
        ),
        (
            {"absent": "oov", "admission": ptf.admission.Probability(0.5)},
            ValueError,
            '`absent="oov"` cannot be combined with `admission.Probability`',
        ),
    ],
)
def test_what_makes_no_sense_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        ptf.layers.PersiaEmbedding(DIM, **options)


@pytest.mark.parametrize("absent", ["zeros", "initial"])
def test_candidates_that_were_never_seen_tie_only_as_zeros(table, absent):
    """For models with two towers, as in retrieval."""
    queries, items = (
        ptf.layers.PersiaEmbedding(8, table=f"{table}_{name}", absent=absent)
        for name in ("query", "item")
    )
    queries(tf.range(10, dtype=tf.int64), training=True)
    items(tf.range(10, dtype=tf.int64), training=True)
    vectors = np.asarray(items(tf.range(100, dtype=tf.int64)))
    scores = np.asarray(queries(tf.range(10, dtype=tf.int64))) @ vectors.T
    ties = [len(scores.T) - len(np.unique(row)) for row in scores]
    assert (max(ties) == 0) == (absent == "initial")
