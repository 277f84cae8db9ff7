"""The pooling contract of cc/service/pooling.h holds in all places that pool.

Bags and upstream gradients are small multiples of powers of two, so sums are exact in
any order: a difference between two places is not due to rounding.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DIM = 8
COMBINERS = ("sum", "mean", "sqrtn")
NONE = 99  # An id without a row.
MANY = list(range(10, 50))  # So many that shards and workers pool.


@dataclasses.dataclass(frozen=True)
class Bag:
    ids: list
    weights: list | None = None  # None: all 1.


BAGS = {
    "one id": Bag([1]),
    "several": Bag([1, 2, 3]),
    "an id twice": Bag([2, 3, 2]),
    "negative ids": Bag([-4, 1]),
    "no id": Bag([]),
    "many": Bag(MANY),
    "the last": Bag([3]),
}
WEIGHTED_BAGS = {
    **BAGS,
    "weights": Bag([1, 2], [0.5, 2.0]),
    "an id twice with two weights": Bag([2, 2], [0.5, 1.0]),
    "a negative weight": Bag([1, 2], [-1.0, 3.0]),
    "a negative sum of weights": Bag([1, 2], [-3.0, 1.0]),
    "a weight of zero": Bag([1, 2], [0.0, 2.0]),
    "weights that sum to zero": Bag([1, 2], [1.0, -1.0]),
    "only weights of zero": Bag([1, 2], [0.0, 0.0]),
}
ROW_IDS = np.array([-4, 1, 2, 3, *MANY])
ROWS = np.random.default_rng(0).integers(-64, 64, (len(ROW_IDS), DIM)) / 32
ROWS = ROWS.astype("float32")


def upstream_of(bags):
    """The gradients of the vectors of bags."""
    draw = np.random.default_rng(1).integers(-8, 8, (len(bags), DIM))
    return (draw / 4).astype("float32")


def weights_of(bag):
    return np.ones(len(bag.ids)) if bag.weights is None else np.array(bag.weights)


def divisor_of(bag, combiner):
    weights = weights_of(bag)
    by_combiner = {
        "sum": 1.0,
        "mean": weights.sum(),
        "sqrtn": np.sqrt((weights * weights).sum()),
    }
    return by_combiner[combiner]


def share_of(bag, combiner, place):
    """The factor of one id's row in the vector of its bag."""
    divisor = divisor_of(bag, combiner)
    return weights_of(bag)[place] / divisor if divisor else 0.0


def vectors_by_formula(bags, combiner):
    rows = dict(zip(ROW_IDS, ROWS))
    vectors = np.zeros((len(bags), DIM))
    for vector, bag in zip(vectors, bags):
        for place, row_id in enumerate(bag.ids):
            vector += share_of(bag, combiner, place) * rows.get(row_id, np.zeros(DIM))
    return vectors


def row_gradients_by_formula(bags, combiner):
    gradients = {row_id: np.zeros(DIM) for row_id in ROW_IDS}
    for bag, gradient in zip(bags, upstream_of(bags)):
        for place, row_id in enumerate(bag.ids):
            gradients[row_id] += share_of(bag, combiner, place) * gradient
    return np.stack(list(gradients.values()))


def weight_gradients_by_formula(bags, combiner):
    """The gradients of all weights; zeros for a bag whose divisor is zero."""
    rows = dict(zip(ROW_IDS, ROWS))
    gradients = []
    vectors = vectors_by_formula(bags, combiner)
    for bag, vector, upstream in zip(bags, vectors, upstream_of(bags)):
        divisor = divisor_of(bag, combiner)
        for weight, row_id in zip(weights_of(bag), bag.ids):
            of_divisor = {"sum": 0.0, "mean": 1.0, "sqrtn": weight / (divisor or 1)}
            by_weight = rows[row_id] - vector * of_divisor[combiner]
            gradients.append(upstream @ by_weight / divisor if divisor else 0.0)
    return np.array(gradients)


def ragged(values, bags, dtype):
    lengths = [len(bag.ids) for bag in bags]
    flat = tf.constant(np.concatenate(values), dtype)
    return tf.RaggedTensor.from_row_lengths(flat, lengths)


def ids_of(bags):
    return ragged([np.array(bag.ids, int) for bag in bags], bags, tf.int64)


def ragged_weights_of(bags):
    return ragged([weights_of(bag) for bag in bags], bags, tf.float32)


def check(found, expected, bags):
    for name, one, other in zip(bags, np.asarray(found), expected):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6, err_msg=name)


@pytest.fixture
def cluster_of(start_shards, start_worker):
    """Makes a cluster whose bags are pooled at the given place."""

    def make(place):
        if place == "embedded":
            return ptf.Cluster.embedded()
        addresses = [s.address for s in start_shards(1 if place == "shard" else 2)]
        if place == "worker":
            addresses = [start_worker(addresses)]
        return ptf.Cluster(addresses, timeout=20, staleness=0)

    return make


@pytest.fixture
def layer_of(table):
    """Makes a layer on a table that has ROWS."""

    def make(cluster, combiner, **options):
        layer = ptf.layers.PersiaEmbedding(
            *(DIM,),
            table=table,
            cluster=cluster,
            combiner=combiner,
            optimizer=ptf.optimizers.SGD(1.0),
            **options,
        )
        layer.build((None, None))
        ptf.Table(table, cluster=cluster).assign(ROW_IDS, ROWS)
        return layer

    return make


def step(layer, bags, *inputs):
    """Takes a step of SGD; returns the vectors before it, and how rows changed."""
    with tf.GradientTape() as tape:
        vectors = layer(*inputs, training=True)
        loss = tf.reduce_sum(vectors * upstream_of(bags))
    variables = layer.trainable_variables
    gradients = tape.gradient(loss, variables)
    keras.optimizers.SGD().apply_gradients(zip(gradients, variables))
    layer.rows.cluster.flush()
    return vectors, ROWS - layer.rows.lookup(ROW_IDS)


def check_step(layer, bags, *inputs):
    vectors, changes = step(layer, list(bags.values()), *inputs)
    check(vectors, vectors_by_formula(bags.values(), layer.combiner), bags)
    expected = row_gradients_by_formula(bags.values(), layer.combiner)
    np.testing.assert_allclose(changes, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("place", ["client", "shard", "worker", "embedded"])
def test_the_core_pools_bags_of_ids(layer_of, cluster_of, place, combiner):
    layer = layer_of(cluster_of(place), combiner)
    check_step(layer, BAGS, ids_of(BAGS.values()))
    before = layer.rows.cluster.session.counters()["bytes_in"]
    layer(ids_of(BAGS.values()))
    bytes_in = layer.rows.cluster.session.counters()["bytes_in"] - before
    # A lookup fetches rows, rather than vectors, if the client pools.
    if place != "embedded":
        assert (bytes_in > 0.9 * ROWS.nbytes) == (place == "client")


@pytest.mark.parametrize("combiner", COMBINERS)
@pytest.mark.parametrize("place", ["client", "shard"])
def test_padding_is_no_id_of_a_bag(layer_of, cluster_of, place, combiner):
    layer = layer_of(cluster_of(place), combiner, mask_zero=True)
    check_step(layer, BAGS, ids_of(BAGS.values()).to_tensor())


@pytest.mark.parametrize("combiner", COMBINERS)
def test_stock_ops_pool_weighted_bags(layer_of, cluster_of, combiner):
    bags = WEIGHTED_BAGS
    layer = layer_of(cluster_of("embedded"), combiner)
    check_step(layer, bags, ids_of(bags.values()), ragged_weights_of(bags.values()))


@pytest.mark.parametrize("combiner", COMBINERS)
def test_stock_ops_leave_padding_out(layer_of, cluster_of, combiner):
    bags = WEIGHTED_BAGS
    layer = layer_of(cluster_of("embedded"), combiner, mask_zero=True)
    weights = ragged_weights_of(bags.values()).to_tensor(7.0)
    check_step(layer, bags, ids_of(bags.values()).to_tensor(), weights)


@pytest.mark.parametrize("combiner", COMBINERS)
def test_weights_have_gradients(layer_of, cluster_of, combiner):
    bags = WEIGHTED_BAGS.values()
    layer = layer_of(cluster_of("embedded"), combiner)
    weights = ragged_weights_of(bags)
    flat = weights.flat_values
    with tf.GradientTape() as tape:
        tape.watch(flat)
        vectors = layer(ids_of(bags), weights.with_flat_values(flat))
        loss = tf.reduce_sum(vectors * upstream_of(bags))
    expected = weight_gradients_by_formula(bags, combiner)
    np.testing.assert_allclose(
        tape.gradient(loss, flat), expected, rtol=1e-5, atol=1e-5
    )


class Vectors(keras.Model):
    """A model with the vectors of all combiners, with and without weights."""

    def __init__(self, layer_of, cluster):
        super().__init__()
        self.of_combiner = [layer_of(cluster, combiner) for combiner in COMBINERS]

    def call(self, inputs):
        bags = [layer(inputs["ids"]) for layer in self.of_combiner]
        weighted = [
            layer(inputs["weighted_ids"], inputs["weights"])
            for layer in self.of_combiner
        ]
        return tf.concat([tf.concat(bags, -1), tf.concat(weighted, -1)], 0)


@pytest.mark.parametrize("place", ["client", "shard", "standalone", "remote"])
def test_inference_and_exports_pool_the_same(layer_of, cluster_of, tmp_path, place):
    absent = {"an id without a row": Bag([1, NONE]), "only such": Bag([NONE])}
    bags = {**BAGS, **absent}
    weighted = {**WEIGHTED_BAGS, **absent}
    model = Vectors(layer_of, cluster_of("shard" if place == "shard" else "client"))
    inputs = {
        "ids": ids_of(bags.values()),
        "weighted_ids": ids_of(weighted.values()),
        "weights": ragged_weights_of(weighted.values()),
    }
    found = model(inputs, training=False)
    if place in ("standalone", "remote"):
        found = answer_of_export(model, inputs, str(tmp_path / "model"), place)
    for combiner, vectors in zip(COMBINERS, np.split(np.asarray(found), 3, axis=1)):
        check(vectors[: len(bags)], vectors_by_formula(bags.values(), combiner), bags)
        expected = vectors_by_formula(weighted.values(), combiner)
        check(vectors[len(bags) :], expected, weighted)


def answer_of_export(model, inputs, path, mode):
    specs = {
        name: tf.RaggedTensorSpec((None, None), values.dtype)
        for name, values in inputs.items()
    }
    ptf.serving.export(model, path, inputs=specs, mode=mode)
    signature = tf.saved_model.load(path).signatures["serving_default"]
    arguments = {}
    for name, values in inputs.items():
        arguments[f"{name}_values"] = values.flat_values
        arguments[f"{name}_row_splits"] = values.row_splits
    return signature(**arguments)["output"]
