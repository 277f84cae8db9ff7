"""Integers narrower than int64, unsigned ones and bools as ids."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.layers import CastingPersiaEmbedding

NARROW = ["bool", "int8", "uint8", "int16", "uint16", "uint32"]
LARGEST = {"uint8": 255, "uint16": 2**16 - 1, "uint32": 2**32 - 1}


def ids_of(dtype):
    values = [0, 1, 1, 0] if dtype == "bool" else [0, 1, 1, LARGEST.get(dtype, -5)]
    return np.array(values).astype(dtype)


@pytest.fixture
def make_layer(table):
    return lambda **options: ptf.layers.PersiaEmbedding(4, table=table, **options)


def trained(layer, ids):
    return np.array(layer(tf.constant(ids), training=True))


@pytest.mark.parametrize("dtype", NARROW)
def test_dense_ids_of_any_integer_type_find_the_same_rows(dtype, make_layer):
    layer, ids = make_layer(), ids_of(dtype)
    rows = trained(layer, ids.astype("int64"))
    np.testing.assert_array_equal(trained(layer, ids), rows)
    assert not np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize("dtype", NARROW)
def test_ragged_and_sparse_ids_are_pooled_as_those_of_int64(dtype, make_layer):
    layer = make_layer(combiner="sum", mask_zero=True)
    ids = tf.RaggedTensor.from_row_lengths(tf.constant(ids_of(dtype)), [3, 0, 1])
    expected = np.array(layer(tf.cast(ids, tf.int64), training=True))
    np.testing.assert_array_equal(layer(ids, training=True), expected)
    sparse = tf.SparseTensor(
        [[0, 0], [0, 1], [0, 2], [2, 0]], tf.constant(ids_of(dtype)), [3, 3]
    )
    np.testing.assert_array_equal(layer(sparse, training=True), expected)
    weights = tf.ones_like(sparse.values, tf.float32)
    weights = tf.SparseTensor(sparse.indices, weights, sparse.dense_shape)
    np.testing.assert_allclose(layer(sparse, weights), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_mask_is_of_what_is_not_zero(dtype, make_layer):
    layer = make_layer(mask_zero=True)
    mask = layer.compute_mask(tf.constant([ids_of(dtype)]))
    np.testing.assert_array_equal(mask, [ids_of(dtype) != 0])


@pytest.mark.parametrize(
    "dtype",
    [
        each if each in ("bool", "int8") else pytest.param(each, marks=pytest.mark.slow)
        for each in NARROW
    ],
)
def test_a_model_trains_prefetched_and_is_exported_with_its_inputs_type(
    dtype, make_layer, table, tmp_path
):
    inputs = keras.Input((4,), dtype=dtype, name="ids")
    vectors = make_layer(mask_zero=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.GRU(3)(vectors)))
    model.compile("sgd", "mse")
    ids = np.tile(ids_of(dtype), (8, 1))
    batches = tf.data.Dataset.from_tensor_slices((ids, np.ones((8, 1)))).batch(4)
    model.fit(ptf.data.prefetch(batches, model), verbose=0)
    model.fit(ids, np.ones((8, 1)), verbose=0)
    assert len(ptf.Table(table)) == len(set(ids_of(dtype).tolist()))
    ptf.serving.export(model, tmp_path / "1", tf_example=True)
    exported = tf.saved_model.load(tmp_path / "1").signatures["serving_default"]
    assert exported.structured_input_signature[1]["ids"].dtype.name == dtype
    [served] = exported(ids=tf.constant(ids)).values()
    np.testing.assert_allclose(served, model.predict(ids, verbose=0), rtol=1e-5)


@pytest.mark.skipif(not IS_KERAS_3, reason="symbolic ragged tensors of Keras 3")
@pytest.mark.parametrize("dtype", NARROW)
def test_symbolic_ragged_ids_keep_their_spec(dtype, make_layer):
    inputs = keras.Input((None,), dtype=dtype, ragged=True)
    vectors = make_layer()(inputs)
    assert vectors.ragged and vectors.shape == (None, None, 4)


def test_uint64_is_refused_with_what_to_give(make_layer):
    ids = tf.constant([2**63 + 1], tf.uint64)
    with pytest.raises(ValueError, match=r"fit int64.*tf\.bitcast.*uint64"):
        make_layer()(ids)
    with pytest.raises(ValueError, match=r"fit int64.*tf\.bitcast.*uint64"):
        make_layer()(keras.Input((), dtype="uint64"))
    assert trained(make_layer(), tf.bitcast(ids, tf.int64)).shape == (1, 4)


def test_a_casting_layer_takes_uint64_too(table):
    layer = CastingPersiaEmbedding(4, table=table)
    rows = trained(layer, np.array([7, 2**63 + 1, 2**63 + 2], "uint64"))
    assert len({row.tobytes() for row in rows}) == 3
    np.testing.assert_array_equal(ptf.Table(table).lookup([7]), rows[:1])


def test_a_table_takes_bools_as_its_layer_does(make_layer, table):
    rows = trained(make_layer(), np.array([True]))
    np.testing.assert_array_equal(ptf.Table(table).lookup(np.array([True])), rows)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_vectors_of_integers_are_refused(dtype, make_layer):
    with pytest.raises(ValueError, match="`dtype` is that of the vectors"):
        make_layer(dtype=dtype)


def test_weights_in_a_list_with_the_ids_are_refused(make_layer):
    layer = make_layer(combiner="sum")
    ids, weights = np.array([[1, 2]]), np.array([[0.5, 1.0]], "float32")
    with pytest.raises(ValueError, match=r"layer\(ids, weights\)"):
        layer([tf.constant(ids), tf.constant(weights)])
    inputs = [keras.Input((2,), dtype="int64"), keras.Input((2,))]
    with pytest.raises(ValueError, match=r"layer\(ids, weights\)"):
        layer(inputs)
