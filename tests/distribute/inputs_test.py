"""Every kind of input reaches the rows of every replica's part of a batch."""

import pytest

from persia_tf._keras import IS_KERAS_3

MODELS = """
def embed(table, combiner=None):
    return ptf.layers.PersiaEmbedding(
        4,
        table=table,
        optimizer=ptf.optimizers.SGD(0.5),
        combiner=combiner,
        cluster=ptf.Cluster(timeout=20, staleness=0),
    )


def ended(inputs, vectors):
    x = keras.layers.Concatenate()(vectors)
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model


rows = 90
random = np.random.default_rng(0)
labels = random.normal(size=(rows, 1)).astype("float32")
users = random.integers(-(2**62), 2**62, 7)[random.integers(0, 7, rows)]
dense = random.normal(size=(rows, 2)).astype("float32")
lengths = random.integers(0, 4, rows)
flat = random.integers(0, 20, lengths.sum())
items = tf.RaggedTensor.from_row_lengths(flat, lengths)
words = tf.strings.as_string(items)


KINDS = {}


def kind(make):
    KINDS[make.__name__] = make
    return make


@kind
def of_dict():
    inputs = {
        "user": keras.Input((), dtype="int64", name="user"),
        "numbers": keras.Input((2,), name="numbers"),
    }
    model = ended(inputs, [embed("user")(inputs["user"]), inputs["numbers"]])
    return model, {"user": users, "numbers": dense}


@kind
def of_tuple():
    inputs = (keras.Input((), dtype="int64"), keras.Input((2,)))
    model = ended(inputs, [embed("users")(inputs[0]), inputs[1]])
    return model, (users, dense)


def pooled(table, x, shape, dtype="int64", **form):
    inputs = (keras.Input(shape, dtype=dtype, **form), keras.Input((2,)))
    model = ended(inputs, [embed(table, "mean")(inputs[0]), inputs[1]])
    return model, (x, dense)


@kind
def of_ragged():
    return pooled("ragged", items, (None,), ragged=True)


@kind
def of_ragged_strings():
    return pooled("words", words, (None,), "string", ragged=True)


@kind
def of_sparse():
    sparse = tf.sparse.reset_shape(items.to_sparse(), (rows, 4))
    return pooled("sparse", sparse, (4,), sparse=True)
"""

TRAIN = """
said = {}
for name, make in KINDS.items():
    keras.utils.set_random_seed(1)
    before = ptf.metrics()["updates"]
    with strategy.scope():
        model, x = make()
        fit = model.fit(batches(x, labels), epochs=2, verbose=0)
        loss = model.evaluate(batches(x, labels), verbose=0)
        scores = model.predict(batches((x,)), verbose=0)
    assert scores.shape == (rows, 1), (name, scores.shape)
    expected = np.mean((scores - labels) ** 2)
    np.testing.assert_allclose(loss, expected, rtol=1e-5, err_msg=name)
    ptf.flush()
    assert ptf.metrics()["updates"] - before == 12, name
    said[name] = [fit.history["loss"], scores.tolist()]
say(**said)
"""


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param("no strategy", marks=pytest.mark.slow),
        "mirrored",
        pytest.param("2 workers", marks=pytest.mark.slow),
    ],
)
def test_all_kinds_train(strategy, results_of):
    program = MODELS
    if IS_KERAS_3 and strategy == "mirrored":  # See below.
        program += "KINDS = {name: KINDS[name] for name in ('of_dict', 'of_tuple')}"
    first, *others = results_of(strategy, program + TRAIN)
    assert others == [first] * len(others)
    assert {"of_dict", "of_tuple"} <= first.keys()
    for (before, after), _ in first.values():
        assert after < before


# This program has no layer of this library.
PLAIN = """
class Mean(keras.layers.Layer):
    def call(self, x):
        return tf.reduce_mean(x, axis=1, keepdims=True)

    def compute_output_shape(self, shape):
        return (shape[0], 1)


with strategy.scope():
    inputs = keras.Input((None,), ragged=True)
    model = keras.Model(inputs, keras.layers.Dense(1)(Mean()(inputs)))
    model.compile("sgd", "mse")
x = tf.RaggedTensor.from_row_lengths(np.ones(32, "float32"), [2] * 16)
try:
    model.fit(batches(x, np.ones((16, 1), "float32")), verbose=0)
    say(failed="")
except AttributeError as error:
    say(failed=str(error))
"""


@pytest.mark.slow
@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras can")
def test_keras_3_still_takes_no_ragged_data_under_mirrored_strategy(results_of):
    [said] = results_of("mirrored", PLAIN)
    assert "RaggedTensor" in said["failed"], (
        "Keras 3 can now: docs/replicas.md says it cannot"
    )
