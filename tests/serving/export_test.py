"""What a standalone export answers in programs that have only TensorFlow."""

import dataclasses
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

COUNT = 64
TAGS = np.array(["", "a", "b", "c", "unheard of"], object)

# A program that cannot import this library.
ANSWER = """
import sys
sys.modules["persia_tf"] = None
import numpy as np
import tensorflow as tf
path, arrays, answers = sys.argv[1:]
serve = tf.saved_model.load(path).signatures["serving_default"]
with np.load(arrays, allow_pickle=False) as inputs:
    found = serve(**{name: tf.constant(inputs[name]) for name in inputs})
np.savez(answers, **{name: tensor.numpy() for name, tensor in found.items()})
"""


@pytest.fixture
def answer(path, tmp_path):
    """Runs that program: returns an export's answer to arrays by name."""

    def ask(**arrays):
        files = [str(tmp_path / name) for name in ("in.npz", "out.npz")]
        np.savez(files[0], **arrays)
        subprocess.run(
            [sys.executable, "-c", ANSWER, path, *files],
            check=True,
            timeout=120,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        with np.load(files[1]) as outputs:
            return dict(outputs)

    return ask


def scores_of(inputs, *vectors):
    joined = keras.layers.Concatenate()(list(vectors))
    return keras.Model(inputs, keras.layers.Dense(1, name="score")(joined))


def train(model, inputs):
    labels = np.random.default_rng(1).random((COUNT, 1)).astype("float32")
    model.compile("sgd", "mse")
    model.fit(tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(16), verbose=0)


def predictions(model, inputs):
    """The model's outputs outside of training."""
    ptf.flush()
    return np.asarray(model(inputs, training=False))


def some_ids(*shape):
    return np.random.default_rng(2).integers(-20, 20, (COUNT, *shape))


def test_it_answers_as_the_model_does(embedding, path, answer):
    user = keras.Input((), dtype="int64", name="user")
    tags = keras.Input((3,), dtype="string", name="tags")
    model = scores_of(
        [user, tags],
        embedding("user")(user),
        embedding("tags", combiner="mean", mask_zero=True)(tags),
    )
    users, words = some_ids(), np.random.default_rng(3).choice(TAGS, (COUNT, 3))
    train(model, (users[:48].repeat(2)[:COUNT], words))
    ptf.serving.export(model, path)
    expected = predictions(model, [tf.constant(users), tf.constant(words)])
    found = answer(user=users, tags=words.astype("U"))
    assert found.keys() == {"score"}
    np.testing.assert_allclose(found["score"], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
def test_ragged_ids_with_weights(embedding, path, answer, combiner):
    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = embedding("items", combiner=combiner)
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(self.embedding(inputs["items"], inputs["weights"]))

    splits = np.sort(np.random.default_rng(4).integers(0, 3 * COUNT, COUNT - 1))
    splits = np.concatenate([[0], splits, [3 * COUNT]])
    values = some_ids(3).ravel()
    weights = np.random.default_rng(5).random(3 * COUNT).astype("float32")
    inputs = {
        "items": tf.RaggedTensor.from_row_splits(values, splits),
        "weights": tf.RaggedTensor.from_row_splits(weights, splits),
    }
    model = Scores()
    model(inputs, training=True)  # Makes rows.
    specs = {
        "items": tf.RaggedTensorSpec((None, None), tf.int64),
        "weights": tf.RaggedTensorSpec((None, None), tf.float32),
    }
    ptf.serving.export(model, path, inputs=specs)
    found = answer(
        items_values=values,
        items_row_splits=splits,
        weights_values=weights,
        weights_row_splits=splits,
    )
    expected = predictions(model, inputs)
    np.testing.assert_allclose(found["output"], expected, rtol=0, atol=1e-6)


def test_a_subclassed_model_takes_what_fit_called_it_with(embedding, path, answer):
    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.user = embedding("user")
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(self.user(inputs["user"]))

    model = Scores()
    inputs = {"user": some_ids(1)}
    model.compile("adam", "mse")
    model.fit(inputs, np.ones((COUNT, 1), "float32"), batch_size=8, verbose=0)
    ptf.serving.export(model, path)
    expected = predictions(model, inputs)
    found = answer(user=inputs["user"])
    np.testing.assert_allclose(found["output"], expected, rtol=0, atol=1e-6)


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 cannot train such a model")
def test_a_call_that_is_a_function_is_traced_without_lookups(embedding, path, answer):
    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.user = embedding("user")
            self.dense = keras.layers.Dense(1)

        @tf.function
        def call(self, inputs):
            return self.dense(self.user(inputs["user"]))

    model = Scores()
    inputs = {"user": some_ids()}
    train(model, inputs)
    ptf.serving.export(model, path)
    expected = predictions(model, {"user": tf.constant(inputs["user"])})
    [found] = answer(**inputs).values()
    np.testing.assert_allclose(found, expected, atol=1e-6)
    train(model, inputs)  # The model trains on.


def test_names_that_are_no_argument_are_made_some(embedding, path, answer):
    ids = {"veteran's admin": some_ids(), "2nd-user": some_ids()}
    inputs = {name: keras.Input((), dtype="int64") for name in ids}
    vectors = [embedding("user")(each) for each in inputs.values()]
    model = scores_of(inputs, *vectors)
    train(model, ids)
    ptf.serving.export(model, path, tf_example=True)
    expected = predictions(model, {name: tf.constant(ids[name]) for name in ids})
    found = answer(veteran_s_admin=some_ids(), arg_2nd_user=some_ids())
    np.testing.assert_allclose(found["score"], expected, atol=1e-6)


@pytest.mark.parametrize(
    "compression",
    [ptf.compression.HashStack(7), ptf.compression.QuotientRemainder(7)],
    ids=["stack", "quotient"],
)
def test_compressed_ids(embedding, path, answer, compression):
    ids = keras.Input((2,), dtype="int64", name="ids")
    layer = embedding("ids", compression=compression, combiner="sum")
    model = scores_of(ids, layer(ids))
    train(model, some_ids(2))
    ptf.serving.export(model, path)
    expected = predictions(model, tf.constant(some_ids(2)))
    found = answer(ids=some_ids(2))["score"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("row_dtype", "bound"), [("float32", 0), ("float16", 2**-11), ("int8", 0.5 / 127)]
)
def test_rows_are_as_exact_as_their_type(embedding, path, row_dtype, bound):
    ids = keras.Input((), dtype="int64", name="ids")
    layer = embedding("ids", dim=8)
    model = keras.Model(ids, layer(ids))
    model(tf.range(40, dtype=tf.int64), training=True)
    rows = layer.rows.lookup(np.arange(41))
    assert rows[:40].any(axis=1).all() and not rows[40].any()
    exported = ptf.serving.export(model, path, row_dtype=row_dtype)
    serve = tf.saved_model.load(path).signatures["serving_default"]
    [found] = serve(ids=tf.range(41, dtype=tf.int64)).values()
    most = np.abs(rows).max(axis=1, keepdims=True)
    assert (np.abs(found.numpy() - rows) <= bound * most * (1 + 1e-6)).all()
    [table] = exported.tables
    width = {"float32": 32, "float16": 16, "int8": 8 + 4}[row_dtype]
    assert (table.rows, table.bytes) == (40, 40 * (8 + width))


def test_layers_that_share_a_table_share_it_in_an_export(embedding, path):
    left, right = (keras.Input((), dtype="int64", name=n) for n in ("left", "right"))
    first, second = embedding("ids"), embedding("ids")
    model = scores_of([left, right], first(left), second(right))
    train(model, (some_ids(), some_ids() + 5))
    exported = ptf.serving.export(model, path)
    assert [table.rows for table in exported.tables] == [len(first.rows)]


def test_the_model_trains_on_after_an_export(embedding, path, tmp_path):
    ids = keras.Input((), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids")(ids))
    train(model, some_ids())
    ptf.serving.export(model, path)
    before = predictions(model, tf.constant(some_ids()))
    train(model, some_ids())
    after = predictions(model, tf.constant(some_ids()))
    assert np.abs(after - before).max() > 1e-4
    ptf.serving.export(model, tmp_path / "model" / "2")
    for version, expected in (("1", before), ("2", after)):
        loaded = tf.saved_model.load(str(tmp_path / "model" / version))
        found = loaded.signatures["serving_default"](ids=tf.constant(some_ids()))
        np.testing.assert_allclose(found["score"], expected, rtol=0, atol=1e-6)


def test_rows_that_come_during_an_export_find_room(embedding, path, monkeypatch):
    ids = keras.Input((), dtype="int64", name="ids")
    layer = embedding("ids")
    model = keras.Model(ids, layer(ids))
    model(tf.range(1000, dtype=tf.int64), training=True)
    monkeypatch.setattr(ptf.Table, "__len__", lambda table: 3)
    exported = ptf.serving.export(model, path)
    assert exported.tables[0].rows == 1000
    [found] = (
        tf.saved_model.load(path)
        .signatures["serving_default"](ids=tf.range(1000, dtype=tf.int64))
        .values()
    )
    np.testing.assert_array_equal(found, layer.rows.lookup(np.arange(1000)))


def test_it_has_tensorflows_ops_alone(embedding, path):
    ids = keras.Input((2,), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids", combiner="sum")(ids))
    train(model, some_ids(2))
    ptf.serving.export(model, path)
    with open(f"{path}/saved_model.pb", "rb") as file:
        assert b"Persia" not in file.read()


def test_a_manifest_tells_what_it_holds(embedding, path, capfd):
    ids = keras.Input((), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids", dim=4)(ids))
    train(model, np.arange(COUNT))
    exported = ptf.serving.export(model, path, row_dtype="float16", progress=True)
    with open(f"{path}/assets.extra/persia_export.json") as file:
        manifest = json.load(file)
    assert manifest["mode"] == "standalone"
    [table] = manifest["tables"]
    assert table == dataclasses.asdict(exported.tables[0])
    assert table["rows"] == COUNT and table["bytes"] == COUNT * (8 + 4 * 2)
    assert table["name"].endswith("_ids") and table["row_dtype"] == "float16"
    assert f"{COUNT}/{COUNT}" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "mixed"}, "`mode` must be one of .*mode='mixed'"),
        ({"row_dtype": "int4"}, "`row_dtype` must be one of .*row_dtype='int4'"),
        (
            {
                "inputs": [
                    tf.TensorSpec((None,), tf.int64, "x"),
                    tf.TensorSpec((None,), tf.int64, "x"),
                ]
            },
            "`inputs` must have unique names. Received: 'x' twice",
        ),
    ],
)
def test_arguments_that_make_no_sense_are_refused(embedding, path, options, message):
    ids = keras.Input((), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids")(ids))
    with pytest.raises(ValueError, match=message):
        ptf.serving.export(model, path, **options)
    assert not os.path.exists(path)


@pytest.mark.parametrize("model", ["model", None], ids=type)
def test_what_is_no_model_is_refused(model, path):
    with pytest.raises(TypeError, match="`model` must be a Keras model. Received"):
        ptf.serving.export(model, path)


def test_a_folder_with_files_is_refused(embedding, tmp_path):
    ids = keras.Input((), dtype="int64", name="ids")
    model = scores_of(ids, embedding("ids")(ids))
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="`path` must be an empty folder or not"):
        ptf.serving.export(model, tmp_path)


def test_a_model_that_does_not_tell_its_inputs_is_refused(embedding, path):
    model = keras.Sequential([embedding("ids"), keras.layers.Dense(1)])
    if not IS_KERAS_3:
        model = type("Subclass", (keras.Model,), {})()
    with pytest.raises(ValueError, match="`inputs` must be given for this model"):
        ptf.serving.export(model, path)


def test_a_layer_that_is_no_part_of_the_model_is_refused(embedding, path):
    hidden = [embedding("ids")]

    class Scores(keras.Model):
        def call(self, inputs):
            return hidden[0](inputs)

    model = Scores()
    model(tf.constant([1, 2], tf.int64))
    specs = tf.TensorSpec((None,), tf.int64)
    with pytest.raises(ValueError, match="is not one of its layers"):
        ptf.serving.export(model, path, inputs=specs)


def test_a_loaded_export_takes_new_rows_while_it_serves(embedding, path):
    ids = keras.Input((), dtype="int64", name="ids")
    layer = embedding("ids")
    model = keras.Model(ids, layer(ids))
    model(tf.constant([5, -7], tf.int64), training=True)
    exported = ptf.serving.export(model, path)
    loaded = tf.saved_model.load(path)
    table = loaded.tables[exported.tables[0].name]
    row = tf.constant([[1.0, 2.0, 3.0, 4.0]])
    table.grow(tf.constant(4, tf.int64))
    table.write(tf.constant([3], tf.int64), row)
    table.link(tf.constant([9], tf.int64), tf.constant([3], tf.int64))
    asked = tf.constant([9, 5, 1], tf.int64)
    [found] = loaded.signatures["serving_default"](ids=asked).values()
    expected = [*row.numpy(), *layer.rows.lookup([5]), np.zeros(4)]
    np.testing.assert_array_equal(found, expected)
