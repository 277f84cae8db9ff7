"""Ragged ids: rows in their shape, or pooled bag by bag, against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

BAGS = [[1, 2, 2], [], [3], [0, 4, 0], [0, 0], []]
NESTED = [[[1, 2], []], [], [[3], [4, 4, 5], [0]]]
COMBINERS = ["sum", "mean", "sqrtn"]


@pytest.fixture
def make_layer(table, cluster):
    def make(**options):
        return ptf.layers.PersiaEmbedding(3, table=table, cluster=cluster, **options)

    return make


@pytest.fixture
def rows(make_layer):
    """The row of every id that the tests use."""
    return np.array(make_layer()(tf.range(10), training=True))


def pooled(bag, rows, combiner, counts):
    vectors = [rows[id] for id in bag if counts(id)]
    divisor = {"sum": 1, "mean": len(vectors), "sqrtn": len(vectors) ** 0.5}[combiner]
    return sum(vectors) / divisor if vectors else np.zeros(3)


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
@pytest.mark.parametrize("splits_dtype", [tf.int32, tf.int64])
def test_rows_take_the_shape_of_ids(dtype, splits_dtype, make_layer, rows):
    ids = tf.ragged.constant(BAGS, dtype, row_splits_dtype=splits_dtype)
    found = make_layer()(ids, training=True)
    assert isinstance(found, tf.RaggedTensor) and found.shape == (6, None, 3)
    np.testing.assert_array_equal(found.row_splits, ids.row_splits)
    np.testing.assert_array_equal(found.values, rows[ids.values])


def test_rows_of_nested_ids(make_layer, rows):
    ids = tf.ragged.constant(NESTED, tf.int64)
    found = make_layer()(ids, training=True)
    assert found.shape == (3, None, None, 3)
    np.testing.assert_array_equal(found.flat_values, rows[ids.flat_values])


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("mask_zero", [False, True])
def test_bags_are_pooled(combiner, mask_zero, make_layer, rows):
    layer = make_layer(combiner=combiner, mask_zero=mask_zero)
    found = layer(tf.ragged.constant(BAGS, tf.int64), training=True)
    counts = (lambda id: id != 0) if mask_zero else (lambda id: True)
    expected = [pooled(bag, rows, combiner, counts) for bag in BAGS]
    assert found.shape == (6, 3)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_the_innermost_ragged_axis_is_pooled(combiner, make_layer, rows):
    ids = tf.ragged.constant(NESTED, tf.int64)
    found = make_layer(combiner=combiner)(ids, training=True)
    assert isinstance(found, tf.RaggedTensor) and found.shape == (3, None, 3)
    bags = [bag for bags in NESTED for bag in bags]
    expected = [pooled(bag, rows, combiner, lambda id: True) for bag in bags]
    np.testing.assert_array_equal(found.row_splits, ids.row_splits)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_a_last_axis_that_is_dense_is_pooled(combiner, make_layer, rows):
    pairs = tf.RaggedTensor.from_row_lengths([[1, 2], [3, 3], [5, 0]], [2, 0, 1])
    found = make_layer(combiner=combiner)(pairs, training=True)
    expected = [
        pooled(bag, rows, combiner, lambda id: True) for bag in pairs.values.numpy()
    ]
    assert found.shape == (3, None, 3)
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_pools_are_those_of_embedding_lookup_sparse(combiner, make_layer, rows):
    ids = tf.ragged.constant(BAGS, tf.int64)
    found = make_layer(combiner=combiner)(ids, training=True)
    expected = tf.nn.safe_embedding_lookup_sparse(
        tf.constant(rows), ids.to_sparse(), combiner=combiner
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_no_ids_at_all(make_layer):
    ids = tf.ragged.constant([[], []], tf.int64, ragged_rank=1)
    assert make_layer()(ids, training=True).values.shape == (0, 3)
    for mask_zero in (False, True):
        layer = make_layer(combiner="mean", mask_zero=mask_zero)
        np.testing.assert_array_equal(layer(ids, training=True), np.zeros((2, 3)))


def test_a_mask_has_the_shape_of_ids(make_layer):
    ids = tf.ragged.constant(BAGS, tf.int64)
    mask = make_layer(mask_zero=True).compute_mask(ids)
    assert mask.to_list() == [[id != 0 for id in bag] for bag in BAGS]
    assert make_layer(mask_zero=True, combiner="sum").compute_mask(ids) is None


@pytest.mark.parametrize("combiner", [None, *COMBINERS])
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_compression_makes_ragged_vectors_too(combiner, mask_zero, make_layer):
    compression = ptf.compression.HashStack(buckets=5)
    layer = make_layer(combiner=combiner, mask_zero=mask_zero, compression=compression)
    dense = make_layer(compression=compression)
    rows = np.array(dense(tf.range(10), training=True))
    found = layer(tf.ragged.constant(BAGS, tf.int64), training=True)
    if combiner is None:
        np.testing.assert_array_equal(found.values, rows[[i for b in BAGS for i in b]])
        return
    counts = (lambda id: id != 0) if mask_zero else (lambda id: True)
    expected = [pooled(bag, rows, combiner, counts) for bag in BAGS]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_training_steps_rows_as_tensorflow_would(combiner, table, cluster):
    layer = ptf.layers.PersiaEmbedding(
        3,
        table=table,
        cluster=cluster,
        combiner=combiner,
        embeddings_initializer="ones",
        optimizer=ptf.optimizers.SGD(0.5),
    )
    ids = tf.ragged.constant(BAGS, tf.int64)
    weights = tf.reshape(tf.range(18, dtype=tf.float32), (6, 3))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(layer(ids, training=True)) * weights)
    optimizer = keras.optimizers.SGD()
    variables = layer.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    cluster.flush()

    rows = tf.Variable(tf.ones((5, 3)))
    with tf.GradientTape() as tape:
        pools = tf.nn.safe_embedding_lookup_sparse(
            rows, ids.to_sparse(), combiner=combiner
        )
        loss = tf.reduce_sum(tf.sin(pools) * weights)
    expected = rows - 0.5 * tf.convert_to_tensor(tape.gradient(loss, rows))
    found = ptf.Table(table, cluster=cluster).lookup(np.arange(5))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_functional_models_pool_nested_bags(make_layer, rows):
    inputs = keras.Input(shape=(None, None), dtype="int64", ragged=True)
    model = keras.Model(inputs, make_layer(combiner="sum")(inputs))
    found = model(tf.ragged.constant(NESTED))
    np.testing.assert_allclose(found[0, 0], rows[1] + rows[2], rtol=1e-6)
    assert found.row_lengths().numpy().tolist() == [2, 0, 3]


def test_functional_models_pool_and_fit(make_layer):
    inputs = keras.Input(shape=(None,), dtype="int64", ragged=True)
    vectors = make_layer(combiner="mean")(inputs)
    assert tuple(vectors.shape) == (None, 3)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    data = (tf.ragged.constant(BAGS, tf.int64), np.ones((6, 1), "float32"))
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(2)
    model.fit(dataset, epochs=2, verbose=0)
    assert model.predict(dataset, verbose=0).shape == (6, 1)


@pytest.mark.parametrize("mask_zero", [False, True])
def test_functional_models_give_ragged_rows(mask_zero, make_layer, rows):
    inputs = keras.Input(shape=(None,), dtype="int64", ragged=True)
    model = keras.Model(inputs, make_layer(mask_zero=mask_zero)(inputs))
    found = model(tf.ragged.constant(BAGS, tf.int64))
    np.testing.assert_array_equal(found.values, rows[[i for b in BAGS for i in b]])


def test_floats_are_refused(make_layer):
    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        make_layer()(tf.ragged.constant([[1.0], []]))


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras has no symbolic specs")
def test_a_ragged_spec_says_so(make_layer):
    inputs = keras.Input(shape=(None,), dtype="int64", ragged=True)
    assert make_layer()(inputs).ragged
    assert not make_layer(combiner="sum")(inputs).ragged
