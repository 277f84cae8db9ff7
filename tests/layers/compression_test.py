"""Hash stack and quotient-remainder: which rows an id has, and how they train.

A reference in Python integers gives the rows. Keras's own Embedding layers, one for
each part, give the result of training.
"""

import functools
import operator

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.compression import HashStack, QuotientRemainder
from persia_tf.ops import embedding

DIM = 4
STEPS = 30
TOLERANCE = 1e-6
EDGES = [0, 1, 2, -1, -(2**63), 2**63 - 1, 2**53 + 1, 123456789012345]

# These must never change: otherwise trained rows would no longer be found, and exports
# would look for them elsewhere.
GOLDEN_HASH_STACK = [
    [55, 1158, 2636],
    [430, 1606, 2605],
    [857, 1227, 2473],
    [696, 1506, 2925],
    [69, 1894, 2330],
    [104, 1565, 2910],
    [535, 1859, 2038],
    [226, 1715, 2191],
]
GOLDEN_QUOTIENT_REMAINDER = [
    [0, 1000],
    [1, 1000],
    [2, 1000],
    [615, 18446744073710551],
    [808, 9223372036855775],
    [807, 9223372036855775],
    [993, 9007199255740],
    [345, 123456790012],
]


def splitmix64(x):
    x = (x + 0x9E3779B97F4A7C15) % 2**64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
    return x ^ x >> 31


def reference_rows(compression, ids):
    """The expected result of `row_ids`, computed with Python integers."""
    buckets = compression.buckets
    rows = []
    for u in (int(i) % 2**64 for i in np.ravel(ids)):
        if isinstance(compression, HashStack):
            hashes = [splitmix64(u ^ splitmix64(k)) for k in range(compression.hashes)]
            parts = [k * buckets + h % buckets for k, h in enumerate(hashes)]
        else:
            parts = [u % buckets, buckets + u // buckets]
        rows.append([part - 2**64 if part >= 2**63 else part for part in parts])
    parts = getattr(compression, "hashes", 2)
    return np.array(rows, dtype=np.int64).reshape(*np.shape(ids), parts)


def reference_vectors(compression, parts):
    """The expected result of `combine`; `parts` is (..., parts, dim)."""
    multiplies = getattr(compression, "operation", "add") == "mul"
    combined = operator.mul if multiplies else operator.add
    return functools.reduce(combined, np.moveaxis(parts, -2, 0))


def row_ids(compression, ids):
    return compression.row_ids(tf.constant(ids, tf.int64)).numpy()


COMPRESSIONS = [
    HashStack(buckets=7),
    HashStack(buckets=11, hashes=1),
    HashStack(buckets=5, hashes=3),
    QuotientRemainder(buckets=6),
    QuotientRemainder(buckets=6, operation="add"),
]
EACH_COMPRESSION = pytest.mark.parametrize("compression", COMPRESSIONS, ids=repr)


def make_layer(compression, table, **arguments):
    arguments.setdefault(
        "embeddings_initializer", keras.initializers.RandomUniform(-0.5, 0.5)
    )
    return ptf.layers.PersiaEmbedding(
        DIM, table=table, compression=compression, **arguments
    )


def stored_rows(layer, rows, training=False):
    """The rows of the table itself, by their own ids."""
    if not layer.built:
        layer.build((None,))
    anchor = tf.convert_to_tensor(layer.trainable_variables[0])
    ids = tf.constant(rows, tf.int64)
    asked = embedding.Lookup(ids, layer._layer_table.route)
    return embedding.lookup([asked], anchor, training)[0].numpy()


@pytest.mark.parametrize("in_graph", [False, True])
def test_hash_stack_rows_are_the_golden_ones(in_graph):
    find = HashStack(buckets=1000, hashes=3).row_ids
    find = tf.function(find) if in_graph else find
    found = find(tf.constant(EDGES, tf.int64))
    np.testing.assert_array_equal(found, GOLDEN_HASH_STACK)


@pytest.mark.parametrize("in_graph", [False, True])
def test_quotient_remainder_rows_are_the_golden_ones(in_graph):
    find = QuotientRemainder(buckets=1000).row_ids
    find = tf.function(find) if in_graph else find
    found = find(tf.constant(EDGES, tf.int64))
    np.testing.assert_array_equal(found, GOLDEN_QUOTIENT_REMAINDER)


@pytest.mark.parametrize(
    "compression",
    [
        *COMPRESSIONS,
        HashStack(buckets=2**62),
        HashStack(buckets=3, hashes=20),
        QuotientRemainder(buckets=2),
        QuotientRemainder(buckets=2**63),
        QuotientRemainder(buckets=2**32 + 1),
    ],
    ids=repr,
)
def test_rows_equal_the_reference_for_any_64_bit_id(compression):
    random = np.random.default_rng(0)
    ids = np.concatenate([EDGES, random.integers(-(2**63), 2**63 - 1, 500)])
    ids = ids.reshape(2, -1)
    expected = reference_rows(compression, ids)
    np.testing.assert_array_equal(row_ids(compression, ids), expected)


def test_row_ids_are_made_by_stock_ops_alone():
    graph = tf.Graph()
    with graph.as_default():
        for compression in COMPRESSIONS:
            compression.row_ids(tf.compat.v1.placeholder(tf.int64))
    used = {op.type for op in graph.get_operations()}
    assert used <= {
        "AddV2",
        "Bitcast",
        "BitwiseXor",
        "Const",
        "FloorDiv",
        "FloorMod",
        "Mul",
        "Pack",
        "Placeholder",
        "RightShift",
        "Sub",
    }


def test_hashes_of_a_stack_never_share_a_row():
    buckets, hashes = 50, 4
    rows = row_ids(HashStack(buckets, hashes), np.arange(5000))
    for level in range(hashes):
        # Each level has rows of its own, and uses all of them.
        expected = np.arange(level * buckets, (level + 1) * buckets)
        np.testing.assert_array_equal(np.unique(rows[:, level]), expected)


def test_ids_of_a_hash_stack_collide_as_rarely_as_chance_lets_them():
    buckets, ids = 1000, np.arange(20_000)
    rows = row_ids(HashStack(buckets), ids)
    distinct = len(np.unique(rows, axis=0))
    # n (n - 1) / 2 / buckets**2 pairs expected, 200; a Poisson count.
    assert 0 <= len(ids) - distinct < 270
    for level in range(2):
        counts = np.bincount(rows[:, level] - level * buckets, minlength=buckets)
        # Chi-square with 999 degrees of freedom: 999 +- 45.
        assert 800 < np.sum((counts - 20) ** 2 / 20) < 1200


def test_hashes_of_a_stack_are_independent():
    rows = row_ids(HashStack(2, hashes=8), np.arange(4096)) % 2
    agreements = [np.mean(rows[:, i] == rows[:, j]) for i in range(8) for j in range(i)]
    assert max(np.abs(np.array(agreements) - 0.5)) < 0.04


@pytest.mark.parametrize("buckets", [2, 10, 999])
def test_no_two_ids_of_quotient_remainder_have_both_rows_in_common(buckets):
    ids = np.concatenate([np.arange(5000), -1 - np.arange(5000)])
    rows = row_ids(QuotientRemainder(buckets), ids)
    assert len(np.unique(rows, axis=0)) == len(ids)
    assert not set(rows[:, 0]) & set(rows[:, 1])


def test_quotient_remainder_of_n_ids_holds_few_rows(table):
    layer = make_layer(QuotientRemainder(buckets=30), table)
    layer(tf.range(900, dtype=tf.int64), training=True)
    assert rows_held(table) == 30 + 30


def test_hash_stack_holds_no_more_rows_than_its_buckets(table):
    layer = make_layer(HashStack(buckets=40, hashes=3), table)
    layer(tf.range(-3000, 3000, dtype=tf.int64), training=True)
    assert rows_held(table) == 3 * 40


def rows_held(table):
    [process] = ptf.Cluster.embedded().stats()
    return next(found.rows for found in process.tables if found.name == table)


@EACH_COMPRESSION
@pytest.mark.parametrize("shape", [(), (8,), (2, 4), (2, 2, 2), (0,)])
def test_vectors_are_made_of_the_rows_of_the_table(compression, shape, table):
    layer = make_layer(compression, table)
    ids = np.array(EDGES)[: int(np.prod(shape))].reshape(shape)
    vectors = np.array(layer(tf.constant(ids, tf.int64), training=True))
    parts = stored_rows(layer, reference_rows(compression, ids))
    expected = reference_vectors(compression, parts)
    assert vectors.shape == (*shape, DIM)
    np.testing.assert_allclose(vectors, expected, rtol=1e-6)


@EACH_COMPRESSION
def test_int32_ids_get_the_vectors_of_int64_ids(compression, table):
    layer = make_layer(compression, table)
    ids = np.array([5, -5, 2**31 - 1, -(2**31)])
    vectors = np.array(layer(tf.constant(ids, tf.int64), training=True))
    narrow = layer(tf.constant(ids, tf.int32), training=False)
    np.testing.assert_array_equal(narrow, vectors)


@EACH_COMPRESSION
def test_evaluation_creates_no_row(compression, table):
    layer = make_layer(compression, table)
    vectors = layer(tf.constant(EDGES, tf.int64), training=False)
    np.testing.assert_array_equal(vectors, np.zeros((len(EDGES), DIM)))
    assert rows_held(table) == 0


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@EACH_COMPRESSION
def test_combiner_pools_the_vectors_and_leaves_padding_out(
    compression, combiner, table
):
    plain = make_layer(compression, table)
    pooled = make_layer(compression, table, combiner=combiner, mask_zero=True)
    ids = tf.constant([[1, 2, 0, 0], [-5, 6, 7, 1], [0, 0, 0, 0]], tf.int64)
    vectors = np.array(plain(ids, training=True))
    counted = np.array(ids != 0)[..., np.newaxis]
    divisor = {"sum": 1, "mean": [[2], [4], [1]], "sqrtn": [[2**0.5], [2], [1]]}
    expected = (vectors * counted).sum(axis=1) / divisor[combiner]
    actual = pooled(ids, training=True)
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-7)


@EACH_COMPRESSION
def test_pooled_padding_trains_no_row(compression, table):
    layer = make_layer(
        compression,
        table,
        combiner="mean",
        mask_zero=True,
        optimizer=ptf.optimizers.SGD(0.1, momentum=0.5),
    )
    ids = np.array([[1, 2, 0, 0], [-5, 3, 2, 1], [0, 0, 0, 0]])
    real = np.unique(reference_rows(compression, ids[ids != 0]))
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant(ids), training=True))
    assert rows_held(table) == len(real)
    variables = layer.trainable_variables
    dense = keras.optimizers.SGD()
    dense.apply_gradients(zip(tape.gradient(loss, variables), variables))
    assert updates_made(table) == len(real)


def updates_made(table):
    ptf.flush()
    [process] = ptf.Cluster.embedded().stats()
    return next(found.rows_updated for found in process.tables if found.name == table)


@EACH_COMPRESSION
def test_mask_is_that_of_the_ids(compression, table):
    layer = make_layer(compression, table, mask_zero=True)
    mask = layer.compute_mask(tf.constant([[3, 0, 6]], tf.int64))
    np.testing.assert_array_equal(mask, [[True, False, True]])


def batches(calls):
    """The ids and targets of each step, for a number of calls."""
    random = np.random.default_rng(0)
    for _ in range(STEPS):
        ids = random.integers(-6, 30, size=(calls, 4, 3))
        yield ids, random.normal(size=(calls, 4, 3, DIM)).astype("float32")


def loss_of(vectors, targets):
    return tf.reduce_sum(tf.square(vectors - targets)) / 20


class Twin:
    """The same parts in Keras's own Embedding layers, with dense gradients."""

    def __init__(self, compression, every_id, weights, optimizer):
        self._compression = compression
        # Quotients of negative ids are large numbers, so rows are numbered.
        self._rows = np.unique(reference_rows(compression, every_id))
        self._layer = keras.layers.Embedding(len(self._rows), DIM)
        self._layer.build((None,))
        self._layer.set_weights([weights(self._rows)])
        self._optimizer = optimizer

    def vectors(self, ids):
        rows = reference_rows(self._compression, ids)
        parts = self._layer(tf.constant(np.searchsorted(self._rows, rows)))
        if getattr(self._compression, "operation", "add") == "mul":
            return tf.reduce_prod(parts, axis=-2)
        return tf.reduce_sum(parts, axis=-2)

    def step(self, ids, targets):
        with tf.GradientTape() as tape:
            losses = [loss_of(self.vectors(i), t) for i, t in zip(ids, targets)]
            loss = tf.add_n(losses)
        variables = self._layer.trainable_variables
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        self._optimizer.apply_gradients(zip(gradients, variables))


OPTIMIZERS = {
    "sgd": (lambda: ptf.optimizers.SGD(0.1), lambda: keras.optimizers.SGD(0.1)),
    "adagrad": (
        lambda: ptf.optimizers.Adagrad(0.05),
        lambda: keras.optimizers.Adagrad(0.05),
    ),
}


def check_training(layer, twin, every_id, flush, calls):
    start = np.array(layer(every_id, training=False))
    variables = layer.trainable_variables
    dense = keras.optimizers.SGD()
    dense.build(variables)

    @tf.function
    def step(ids, targets):
        with tf.GradientTape() as tape:
            vectors = [layer(ids[call], training=True) for call in range(calls)]
            loss = tf.add_n([loss_of(v, targets[i]) for i, v in enumerate(vectors)])
        dense.apply_gradients(zip(tape.gradient(loss, variables), variables))

    for ids, targets in batches(calls):
        step(tf.constant(ids), tf.constant(targets))
        flush()
        twin.step(ids, targets)
    trained = np.array(layer(every_id, training=False))
    expected = twin.vectors(every_id)
    np.testing.assert_allclose(trained, expected, rtol=TOLERANCE, atol=TOLERANCE)
    assert np.abs(trained - start).max() > 1e-2


@pytest.mark.parametrize("calls", [1, 2])
@pytest.mark.parametrize("rule", OPTIMIZERS)
@EACH_COMPRESSION
def test_trains_as_keras_trains_the_same_parts(
    compression, rule, calls, table, cluster
):
    ours, theirs = OPTIMIZERS[rule]
    layer = make_layer(compression, table, optimizer=ours(), cluster=cluster)
    every_id = np.arange(-6, 30)
    weights = functools.partial(stored_rows, layer, training=True)
    twin = Twin(compression, every_id, weights, theirs())
    check_training(layer, twin, every_id, cluster.flush, calls)


def test_fit_trains_a_model_whose_ids_are_compressed(table):
    keras.utils.set_random_seed(0)
    ids = np.arange(512)
    inputs = keras.Input(shape=(), dtype="int64")
    layer = make_layer(
        QuotientRemainder(32, "add"), table, optimizer=ptf.optimizers.Adagrad(0.1)
    )
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    # The remainder alone determines the target.
    targets = (ids % 32 / 32.0).astype("float32")[:, np.newaxis]
    history = model.fit(ids, targets, epochs=20, batch_size=64, verbose=0)
    losses = history.history["loss"]
    assert losses[-1] < losses[0] / 3


@EACH_COMPRESSION
def test_config_round_trip(compression, table):
    layer = make_layer(compression, table)
    config = layer.get_config()
    copy = ptf.layers.PersiaEmbedding.from_config(config)
    assert copy.compression == compression
    assert copy.get_config() == config


@EACH_COMPRESSION
def test_saved_model_file_keeps_the_compression(compression, table, tmp_path):
    inputs = keras.Input(shape=(3,), dtype="int64")
    layer = make_layer(compression, table, combiner="sum")
    model = keras.Model(inputs, layer(inputs))
    ids = np.array([[1, 2, 3], [4, -5, 6]])
    vectors = np.array(layer(tf.constant(ids), training=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(ids, verbose=0), vectors, rtol=1e-6)


@pytest.mark.parametrize("other", [None, HashStack(8), QuotientRemainder(7)], ids=repr)
def test_layers_that_share_a_table_must_share_the_compression(other, table):
    make_layer(HashStack(7), table).build((None,))
    make_layer(HashStack(7), table).build((None,))
    with pytest.raises(ValueError, match=rf"'{table}'.*HashStack\(buckets=7"):
        make_layer(other, table).build((None,))


@pytest.mark.parametrize("buckets", [0, 1, -5, 2**63 + 1])
@pytest.mark.parametrize("compression", [HashStack, QuotientRemainder])
def test_buckets_out_of_range_are_refused(compression, buckets):
    with pytest.raises(ValueError, match=rf"`buckets`.*from 2 to.*buckets={buckets}"):
        compression(buckets)


@pytest.mark.parametrize("hashes", [0, -1, 2**62 + 1])
def test_hashes_out_of_range_are_refused(hashes):
    with pytest.raises(ValueError, match=rf"`hashes`.*from 1 to.*hashes={hashes}"):
        HashStack(2, hashes)


@pytest.mark.parametrize("value", [1.5, "9", True, None])
def test_buckets_and_hashes_must_be_integers(value):
    with pytest.raises(TypeError, match="`buckets` must be an integer"):
        QuotientRemainder(value)
    with pytest.raises(TypeError, match="`hashes` must be an integer"):
        HashStack(10, hashes=value)


@pytest.mark.parametrize("operation", ["concat", None, "Mul"])
def test_unknown_operation_is_refused(operation):
    with pytest.raises(ValueError, match=rf"'mul', 'add'.*operation={operation!r}"):
        QuotientRemainder(10, operation)


@pytest.mark.parametrize("compression", ["hash_stack", 7, HashStack])
def test_what_is_no_compression_is_refused(compression, table):
    with pytest.raises(TypeError, match="`compression` must be None or an object"):
        make_layer(compression, table)
