"""Which ids PersiaEmbedding takes or refuses, and the shapes of its outputs."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras


def trained_rows(layer, ids):
    return np.array(layer(tf.constant(ids), training=True))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (0,), (2, 0)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_ids_of_any_rank_get_a_vector_each(shape, dtype, table):
    layer = ptf.layers.PersiaEmbedding(5, table=table)
    ids = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    rows = trained_rows(layer, ids)
    assert rows.shape == (*shape, 5)
    assert layer.compute_output_shape(shape) == (*shape, 5)


def test_any_64_bit_id_has_a_row_of_its_own(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    ids = np.array([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1])
    rows = trained_rows(layer, ids)
    assert len({row.tobytes() for row in rows}) == len(ids)
    np.testing.assert_array_equal(trained_rows(layer, ids[::-1]), rows[::-1])


def test_equal_ids_get_equal_vectors_whatever_their_type(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    rows = trained_rows(layer, np.array([7, -7, 7], "int64"))
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_array_equal(trained_rows(layer, np.array([7], "int32")), rows[:1])


def test_ids_beyond_2_to_the_53_survive_a_model(table):
    inputs = keras.Input(shape=(), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    model = keras.Model(inputs, layer(inputs))
    ids = np.array([2**53, 2**53 + 1])
    rows = trained_rows(layer, ids)
    np.testing.assert_array_equal(model.predict(ids, verbose=0), rows)
    assert not np.array_equal(rows[0], rows[1])


def test_untrained_id_gives_zeros_outside_training_and_creates_nothing(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    ids = tf.constant([5, 6], tf.int64)
    np.testing.assert_array_equal(layer(ids, training=False), np.zeros((2, 4)))
    np.testing.assert_array_equal(layer(ids), np.zeros((2, 4)))
    assert rows_held(table) == 0
    layer(ids, training=True)
    assert rows_held(table) == 2


def rows_held(table):
    [process] = ptf.Cluster.embedded().stats()
    return next(found.rows for found in process.tables if found.name == table)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_other_types_are_refused_with_what_to_declare(dtype, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    ids = tf.cast([1], dtype)
    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        layer(ids)


@pytest.mark.parametrize("inputs", [None, {"user": np.array([1])}])
def test_what_is_no_tensor_is_told_that_one_is_taken(inputs, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    layer.build((None,))
    with pytest.raises(ValueError, match="takes its ids as one .*Received: inputs"):
        layer.call(inputs)


def test_float_input_is_refused_as_the_functional_model_is_made(table):
    inputs = keras.Input(shape=(3,))
    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        ptf.layers.PersiaEmbedding(4, table=table)(inputs)


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras passes integers on")
def test_sequential_without_input_is_refused_where_keras_casts_ids_to_floats(table):
    model = keras.Sequential(
        [ptf.layers.PersiaEmbedding(4, table=table), keras.layers.Dense(1)]
    )
    model.compile("adam", "mse")
    with pytest.raises(ValueError, match=r'keras\.Input\(\.\.\., dtype="int64"\)'):
        model.fit(np.arange(8, dtype="int64"), np.zeros((8, 1)), verbose=0)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_combiner_pools_the_last_axis(combiner, table):
    plain = ptf.layers.PersiaEmbedding(4, table=table)
    pooled = ptf.layers.PersiaEmbedding(4, table=table, combiner=combiner)
    ids = np.array([[[1, 2, 3], [4, 4, 4]], [[5, 6, 7], [0, 0, 8]]])
    rows = trained_rows(plain, ids)
    divisor = {"sum": 1, "mean": 3, "sqrtn": 3**0.5}[combiner]
    np.testing.assert_allclose(
        trained_rows(pooled, ids), rows.sum(axis=-2) / divisor, rtol=1e-6
    )
    assert pooled.compute_output_shape(ids.shape) == (2, 2, 4)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_combiner_leaves_padding_out(combiner, table):
    plain = ptf.layers.PersiaEmbedding(4, table=table)
    pooled = ptf.layers.PersiaEmbedding(
        4, table=table, combiner=combiner, mask_zero=True
    )
    ids = np.array([[1, 2, 0, 0], [0, 0, 0, 0]])
    rows = trained_rows(plain, ids)
    divisor = {"sum": 1, "mean": 2, "sqrtn": 2**0.5}[combiner]
    expected = np.stack([(rows[0, 0] + rows[0, 1]) / divisor, np.zeros(4)])
    np.testing.assert_allclose(trained_rows(pooled, ids), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 2), (2, 2, 2)])
@pytest.mark.parametrize("real", [[7, -7, 8], [-7, -8, -(2**63)], [2**63 - 1, 5, 6]])
def test_pooled_padding_has_no_row(real, shape, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum", mask_zero=True)
    ids = np.array([real[0], 0, real[1], real[2], 0, 0, real[0], real[0]])
    trained_rows(layer, ids.reshape(shape))
    assert rows_held(table) == 3
    assert not ptf.Table(table).lookup([0]).any()


def test_pooled_padding_adds_nothing_to_the_gradients_of_its_batch(table):
    layer = ptf.layers.PersiaEmbedding(
        *(2,),
        table=table,
        embeddings_initializer="ones",
        optimizer=ptf.optimizers.SGD(1.0),
        combiner="sum",
        mask_zero=True,
    )
    with tf.GradientTape() as tape:
        pooled = layer(tf.constant([[3, 0, 0], [0, 0, 0]], tf.int64), training=True)
        # The gradient of a bag of padding alone reaches no row, whatever it is.
        loss = tf.reduce_sum(pooled * [[1.0], [np.inf]])
    variables = layer.trainable_variables
    gradients = tape.gradient(loss, variables)
    keras.optimizers.SGD().apply_gradients(zip(gradients, variables))
    np.testing.assert_array_equal(ptf.Table(table).lookup([3]), [[0, 0]])


def test_combiner_of_an_empty_bag_gives_zeros(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="mean")
    rows = trained_rows(layer, np.zeros((2, 0), "int64"))
    np.testing.assert_array_equal(rows, np.zeros((2, 4)))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_combiner_refuses_ids_without_an_axis_to_pool(shape, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    with pytest.raises(ValueError, match=f"rank of at least 2.*rank {len(shape)}"):
        layer(np.zeros(shape, "int64"))


def test_mask_zero_marks_padding_for_the_layers_behind(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, mask_zero=True)
    ids = tf.constant([[1, 0, 2]], tf.int64)
    np.testing.assert_array_equal(layer.compute_mask(ids), [[True, False, True]])
    inputs = keras.Input(shape=(None,), dtype="int64")
    model = keras.Model(inputs, keras.layers.GRU(2)(layer(inputs)))
    layer(tf.range(4, dtype=tf.int64), training=True)
    padded = model.predict(np.array([[1, 2, 0, 0]]), verbose=0)
    short = model.predict(np.array([[1, 2]]), verbose=0)
    np.testing.assert_allclose(padded, short, rtol=1e-5)


def test_bfloat16_policy_gives_bfloat16_vectors(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, dtype="mixed_bfloat16")
    assert layer(tf.constant([1], tf.int64)).dtype == tf.bfloat16
