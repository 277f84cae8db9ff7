"""Weights of ids in bags pool as in `tf.nn.embedding_lookup_sparse`."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

IDS = tf.ragged.constant([[1, 2, 3], [], [2], [5, 1]], dtype=tf.int64)
WEIGHTS = tf.ragged.constant([[0.5, 2.0, -1.0], [], [3.0], [0.0, 1.0]])

KINDS = {
    "ragged": lambda ragged: ragged,
    "sparse": lambda ragged: ragged.to_sparse(),
    "dense": lambda ragged: ragged.to_tensor(),
}


def all_rows(table, **options):
    """The rows of ids 0 to 5."""
    layer = ptf.layers.PersiaEmbedding(4, table=table, **options)
    return layer(tf.range(6), training=True)


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def pools_by_hand(rows, combiner, weights=WEIGHTS):
    pools = []
    for row_ids, row_weights in zip(IDS.to_list(), tf.unstack(padded(weights))):
        weights_here = row_weights[: len(row_ids)]
        weighted = (
            weights_here[:, tf.newaxis]
            * tf.gather(rows, row_ids or [0])[: len(row_ids)]
        )
        divisor = {
            "sum": tf.constant(1.0),
            "mean": tf.reduce_sum(weights_here),
            "sqrtn": tf.sqrt(tf.reduce_sum(weights_here**2)),
        }[combiner]
        pools.append(tf.math.divide_no_nan(tf.reduce_sum(weighted, axis=0), divisor))
    return tf.stack(pools)


def padded(weights):
    return weights.to_tensor() if isinstance(weights, tf.RaggedTensor) else weights


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_rows_are_weighted(kind, combiner, table):
    rows = all_rows(table)
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner=combiner)
    expected = pools_by_hand(rows, combiner)
    np.testing.assert_allclose(layer(kind(IDS), kind(WEIGHTS)), expected, atol=1e-6)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_gradients_reach_weights_and_rows(combiner, table):
    sgd = ptf.optimizers.SGD(1.0)
    rows = all_rows(table, optimizer=sgd)
    layer = ptf.layers.PersiaEmbedding(
        *(4,), table=table, combiner=combiner, optimizer=sgd
    )
    weights = tf.constant(padded(WEIGHTS))
    with tf.GradientTape() as tape:
        tape.watch([weights, rows])
        expected = tf.reduce_sum(pools_by_hand(rows, combiner, weights) ** 2)
    of_weights, of_rows = tape.gradient(expected, [weights, rows])

    with tf.GradientTape() as tape:
        tape.watch(weights)
        ragged = tf.RaggedTensor.from_tensor(weights, lengths=IDS.row_lengths())
        loss = tf.reduce_sum(layer(IDS, ragged, training=True) ** 2)
    variables = layer.trainable_variables
    found, *gradients = tape.gradient(loss, [weights, *variables])
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(found, of_weights, atol=1e-5)
    keras.optimizers.SGD().apply_gradients(zip(gradients, variables))
    stepped = rows - tf.convert_to_tensor(of_rows)
    trained = ptf.Table(table).lookup(np.arange(6))
    np.testing.assert_allclose(trained, stepped, atol=1e-5)


def test_padding_counts_for_nothing_whatever_its_weight(table):
    rows = all_rows(table)
    layer = ptf.layers.PersiaEmbedding(
        *(4,), table=table, combiner="mean", mask_zero=True
    )
    pooled = layer(tf.constant([[1, 0, 2], [0, 0, 0]]), tf.constant([[1.0, 9, 3]] * 2))
    expected = [(rows[1] + 3 * rows[2]) / 4, np.zeros(4)]
    np.testing.assert_allclose(pooled, expected, atol=1e-6)


def test_models_train_with_weights(kind, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    ids, weights = kind(IDS), kind(WEIGHTS)
    options = {
        "ragged": isinstance(ids, tf.RaggedTensor),
        "sparse": isinstance(ids, tf.SparseTensor),
    }
    options = {name: True for name, is_so in options.items() if is_so}
    inputs = {
        "ids": keras.Input((None,), dtype="int64", name="ids", **options),
        "weights": keras.Input((None,), name="weights", **options),
    }
    pooled = layer(inputs["ids"], inputs["weights"])
    model = keras.Model(inputs, keras.layers.Dense(1)(pooled))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors(
        ({"ids": ids, "weights": weights}, tf.ones((4, 1)))
    )
    before = ptf.metrics()["prefetch_hits"]
    fit = model.fit(ptf.data.prefetch(data.repeat(30), model), verbose=0)
    assert fit.history["loss"][0] < 1
    assert ptf.metrics()["prefetch_hits"] > before
    assert model.predict(data, verbose=0).shape == (4, 1)


def test_weights_need_a_combiner(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    with pytest.raises(ValueError, match="takes weights only with a `combiner`"):
        layer(tf.constant([[1]]), tf.constant([[1.0]]))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (tf.constant([[1.0, 2.0]]), "one weight per id"),
        (tf.ragged.constant([[1.0]]), "dense, ragged or sparse"),
    ],
)
def test_weights_must_match_ids(weights, message, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    layer.build((None, 3))
    with pytest.raises(ValueError, match=message):
        layer.call(tf.constant([[1, 2, 3]]), weights)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "graph"])
def test_ragged_weights_must_be_where_ids_are(run, table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    weights = tf.ragged.constant([[0.5], [2.0, -1.0], [3.0], [0.0, 1.0]])
    layer(IDS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="positions as the ids"):
        run(layer.call)(IDS, weights)


def test_ids_and_weights_may_be_arrays(table):
    rows = all_rows(table)
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    pooled = layer(np.array([[1, 2]]), np.array([[0.5, 2.0]]))
    np.testing.assert_allclose(pooled, [rows[1] / 2 + 2 * rows[2]], atol=1e-6)
