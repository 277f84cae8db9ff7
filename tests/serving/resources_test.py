"""Exports of models that have tables and variables of TensorFlow besides their rows."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

WORDS = np.array(["red", "green", "blue", "green"], object)
TEXTS = np.array(["red green", "", "blue", "unheard of green"], object)
NUMBERS = np.array([10, 30, 20, 99], np.int64)
FLOATS = np.array([0.1, 0.7, -3.0, 12.0], np.float32)

# A program that cannot import this library.
LOAD = """
import sys
sys.modules["persia_tf"] = None
import numpy as np
import tensorflow as tf
library, arrays, *exports = sys.argv[1:]
tf.load_op_library(library)
with np.load(arrays, allow_pickle=False) as inputs:
    for path in exports:
        serve = tf.saved_model.load(path).signatures["serving_default"]
        specs = serve.structured_input_signature[1]
        given = {name: tf.constant(inputs[name]) for name in specs}
        [found] = serve(**given).values()
        np.save(path + ".npy", found.numpy())
"""
COMMAND = "from tensorflow.python.tools.saved_model_cli import main; main()"

LAYERS = {
    "strings": (
        lambda: keras.layers.StringLookup(vocabulary=["red", "green"]),
        *(WORDS, "string"),
    ),
    "strings of a file": (
        lambda: keras.layers.StringLookup(vocabulary=vocabulary_file()),
        *(WORDS, "string"),
    ),
    "adapted strings": (
        lambda: adapted(keras.layers.StringLookup(num_oov_indices=2), WORDS),
        *(WORDS, "string"),
    ),
    "integers": (
        lambda: keras.layers.IntegerLookup(vocabulary=[10, 20]),
        *(NUMBERS, "int64"),
    ),
    "adapted integers": (
        lambda: adapted(keras.layers.IntegerLookup(), NUMBERS),
        *(NUMBERS, "int64"),
    ),
    "text": (
        lambda: adapted(
            keras.layers.TextVectorization(output_sequence_length=3), TEXTS
        ),
        *(TEXTS, "string"),
    ),
    "hashes": (lambda: keras.layers.Hashing(11), WORDS, "string"),
    "salted hashes": (lambda: keras.layers.Hashing(11, salt=7), NUMBERS, "int64"),
    "bins": (
        lambda: keras.layers.Discretization(bin_boundaries=[0.0, 1.0]),
        *(FLOATS, "float32"),
    ),
    "adapted bins": (
        lambda: adapted(keras.layers.Discretization(num_bins=3), FLOATS),
        *(FLOATS, "float32"),
    ),
}

_folder = None


@pytest.fixture(autouse=True)
def _vocabulary(tmp_path):
    global _folder
    _folder = tmp_path


def vocabulary_file():
    path = _folder / "vocabulary.txt"
    path.write_text("red\ngreen\n")
    return str(path)


def adapted(layer, data):
    layer.adapt(data)
    return layer


def scores_of(vectors):
    flat = keras.layers.Flatten()(vectors)
    return keras.layers.Dense(1, name="score")(flat)


def make_rows(model, inputs):
    """Trains once, so that the rows exist; returns the model's outputs."""
    model(inputs, training=True)
    ptf.flush()
    return np.asarray(model(inputs, training=False))


def loaded_answer(path, **inputs):
    serve = tf.saved_model.load(path).signatures["serving_default"]
    given = {name: tf.constant(array) for name, array in inputs.items()}
    [found] = serve(**given).values()
    return found.numpy()


def assert_exports(model, path, arrays, modes=("standalone",), **options):
    """Checks that an export answers as the model does; `arrays` are the inputs."""
    given = {name: tf.constant(array) for name, array in arrays.items()}
    if len(given) == 1:
        [given] = given.values()
    expected = make_rows(model, given)
    assert np.unique(expected).size > 1
    for mode in modes:
        export = f"{path}_{mode}"
        ptf.serving.export(model, export, mode=mode, **options)
        found = loaded_answer(export, **arrays)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def modes_of(cluster):
    return ("standalone",) if cluster.is_embedded else ("standalone", "remote")


@pytest.mark.parametrize("kind", LAYERS)
def test_ids_that_a_layer_makes(embedding, cluster, path, kind):
    make, data, dtype = LAYERS[kind]
    data = data[:, np.newaxis]
    given = keras.Input((1,), dtype=dtype, name="given")
    model = keras.Model(given, scores_of(embedding("ids")(make()(given))))
    assert_exports(model, path, {"given": data}, modes_of(cluster))


def test_the_file_of_a_vocabulary_is_in_the_export(embedding, path, tmp_path):
    given = keras.Input((), dtype="string", name="given")
    lookup = keras.layers.StringLookup(vocabulary=vocabulary_file())
    model = keras.Model(given, scores_of(embedding("ids")(lookup(given))))
    expected = make_rows(model, tf.constant(WORDS))
    ptf.serving.export(model, path)
    (tmp_path / "vocabulary.txt").unlink()
    moved = os.fspath(tmp_path / "moved")
    os.rename(path, moved)
    found = loaded_answer(moved, given=WORDS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_features_that_layers_make(embedding, path):
    words = keras.Input((1,), dtype="string", name="words")
    floats = keras.Input((1,), dtype="float32", name="floats")
    index = keras.layers.StringLookup(vocabulary=["red", "green"])(words)
    parts = [
        keras.layers.Flatten()(embedding("ids")(index)),
        adapted(keras.layers.Normalization(), FLOATS[:, np.newaxis])(floats),
        keras.layers.CategoryEncoding(num_tokens=3, output_mode="one_hot")(index),
        keras.layers.StringLookup(vocabulary=["red"], output_mode="multi_hot")(words),
    ]
    model = keras.Model([words, floats], scores_of(keras.layers.Concatenate()(parts)))
    inputs = {"words": WORDS[:, np.newaxis], "floats": FLOATS[:, np.newaxis]}
    expected = make_rows(model, [tf.constant(array) for array in inputs.values()])
    ptf.serving.export(model, path)
    found = loaded_answer(path, **inputs)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_pooled_ragged_texts(embedding, path):
    vectorize = keras.layers.TextVectorization(ragged=True)
    vectorize.adapt(TEXTS)
    pooled = embedding("ids", combiner="mean")

    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.vectorize, self.pooled = vectorize, pooled
            self.dense = keras.layers.Dense(1)

        def call(self, texts):
            return self.dense(self.pooled(tf.cast(self.vectorize(texts), tf.int64)))

    spec = tf.TensorSpec((None,), tf.string, name="text")
    assert_exports(Scores(), path, {"text": TEXTS}, inputs=spec)


def test_a_sequential_model(embedding, cluster, path):
    model = keras.Sequential(
        [
            keras.Input((), dtype="string", name="given"),
            keras.layers.StringLookup(vocabulary=["red", "green"]),
            embedding("ids"),
            keras.layers.Dense(1),
        ]
    )
    name = model.inputs[0].name
    assert_exports(model, path, {name: WORDS}, modes_of(cluster))


def test_a_subclassed_model_with_nested_ones(embedding, cluster, path):
    class Tower(keras.Model):
        def __init__(self, name, vocabulary):
            super().__init__(name=name)
            self.lookup = keras.layers.StringLookup(vocabulary=vocabulary)
            self.embedding = embedding(name)

        def call(self, words):
            return self.embedding(self.lookup(words))

    class Match(keras.Model):
        def __init__(self):
            super().__init__()
            self.towers = {
                "user": Tower("user", ["red", "green"]),
                "item": keras.Sequential(
                    [
                        keras.layers.StringLookup(vocabulary=["blue"]),
                        embedding("item"),
                    ]
                ),
            }

        def call(self, inputs):
            user = self.towers["user"](inputs["user"])
            return tf.reduce_sum(user * self.towers["item"](inputs["item"]), 1)

    specs = {
        name: tf.TensorSpec((None,), tf.string, name=name) for name in ("user", "item")
    }
    inputs = {"user": WORDS, "item": WORDS[::-1]}
    assert_exports(Match(), path, inputs, modes_of(cluster), inputs=specs)


def test_a_tower_that_is_exported_alone(embedding, path):
    given = keras.Input((), dtype="string", name="given")
    lookup = keras.layers.StringLookup(vocabulary=["red", "green"])
    tower = keras.Model(given, embedding("ids")(lookup(given)), name="tower")
    whole = keras.Model(given, scores_of(tower(given)))
    make_rows(whole, tf.constant(WORDS))
    assert_exports(tower, path, {"given": WORDS})


def test_what_a_closure_has(embedding, path):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["red", "green"], [5, 7], None, tf.int64),
        -1,
    )
    grown = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    grown.insert(tf.constant([5, 7], tf.int64), tf.constant([50, 70], tf.int64))
    shift = tf.Variable(3, dtype=tf.int64)

    def to_ids(words):
        ids = grown.lookup(table.lookup(words))
        return tf.ensure_shape(ids, words.shape) + shift

    class Scores(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = embedding("ids")
            self.dense = keras.layers.Dense(1)

        def call(self, words):
            return self.dense(self.embedding(to_ids(words)))

    spec = tf.TensorSpec((None,), tf.string, name="given")
    assert_exports(Scores(), path, {"given": WORDS}, inputs=spec)


def test_what_a_lambda_layer_has(embedding, path):
    lookup = keras.layers.StringLookup(vocabulary=["red", "green"])
    given = keras.Input((), dtype="string", name="given")
    ids = keras.layers.Lambda(lambda words: lookup(words) * 10, dtype="int64")(given)
    model = keras.Model(given, scores_of(embedding("ids")(ids)))
    assert_exports(model, path, {"given": WORDS})


def test_tf_examples_too(embedding, path):
    given = keras.Input((1,), dtype="string", name="given")
    lookup = keras.layers.StringLookup(vocabulary=["red", "green"])
    model = keras.Model(given, scores_of(embedding("ids")(lookup(given))))
    expected = make_rows(model, tf.constant(WORDS[:, np.newaxis]))
    ptf.serving.export(model, path, tf_example=True)
    examples = [
        tf.train.Example(
            features=tf.train.Features(
                feature={
                    "given": tf.train.Feature(
                        bytes_list=tf.train.BytesList(value=[word.encode()])
                    )
                }
            )
        ).SerializeToString()
        for word in WORDS
    ]
    serve = tf.saved_model.load(path).signatures["tf_example"]
    found = serve(examples=tf.constant(examples))["score"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_a_model_of_a_strategy(embedding, path):
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        given = keras.Input((), dtype="string", name="given")
        lookup = keras.layers.StringLookup(vocabulary=["red", "green"])
        model = keras.Model(given, scores_of(embedding("ids")(lookup(given))))
    assert_exports(model, path, {"given": WORDS})


@pytest.mark.parametrize("cluster", [1], indirect=True, ids=["shards"])
def test_programs_with_tensorflow_alone(embedding, path, tmp_path):
    inputs, models = {}, []
    for number, (make, data, dtype) in enumerate(LAYERS.values()):
        name = f"given_{number}"
        given = keras.Input((1,), dtype=dtype, name=name)
        vectors = embedding(name)(make()(given))
        data = data[:, np.newaxis]
        inputs[name] = data.astype("U") if dtype == "string" else data
        models.append((keras.Model(given, scores_of(vectors)), tf.constant(data)))
    exports, expected = [], []
    for model, data in models:
        for mode in ("standalone", "remote"):
            exports.append(f"{path}_{len(exports)}")
            expected.append(make_rows(model, data))
            ptf.serving.export(model, exports[-1], mode=mode)
    arrays = str(tmp_path / "in.npz")
    np.savez(arrays, **inputs)
    ended = python(LOAD, ptf.serving.op_library(), arrays, *exports)
    assert ended.returncode == 0, ended.stderr
    for export, answer in zip(exports, expected):
        found = np.load(f"{export}.npy")
        np.testing.assert_allclose(found, answer, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_tensorflows_command(embedding, path, tmp_path):
    given = keras.Input((), dtype="int64", name="given")
    lookup = keras.layers.IntegerLookup(vocabulary=[10, 20])
    model = keras.Model(given, scores_of(embedding("ids")(lookup(given))))
    expected = make_rows(model, tf.constant(NUMBERS))
    ptf.serving.export(model, path)
    np.save(tmp_path / "given.npy", NUMBERS)
    ended = python(
        *(COMMAND, "run", "--dir", path, "--tag_set", "serve"),
        *("--signature_def", "serving_default", "--outdir", str(tmp_path)),
        f"--inputs=given={tmp_path}/given.npy",
    )
    assert ended.returncode == 0, ended.stderr
    found = np.load(tmp_path / "score.npy")
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def python(*arguments):
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=240,
    )
