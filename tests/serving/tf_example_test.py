"""The signature of an export that takes serialized tf.Examples."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.serving.export_signature import Inputs
from persia_tf.serving.tf_example import ExampleParser


def example(**features):
    """A serialized tf.Example of lists of numbers or strings."""

    def feature(values):
        if not values or isinstance(values[0], bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
        if isinstance(values[0], float):
            return tf.train.Feature(float_list=tf.train.FloatList(value=values))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    features = {name: feature(values) for name, values in features.items() if values}
    return tf.train.Example(
        features=tf.train.Features(feature=features)
    ).SerializeToString()


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_it_answers_as_the_model_does(embedding, path):
    user = keras.Input((), dtype="int64", name="user")
    tags = keras.Input((2,), dtype="string", name="tags")
    age = keras.Input((1,), dtype="float32", name="age")
    joined = keras.layers.Concatenate()(
        [embedding("user")(user), embedding("tags", combiner="mean")(tags), age]
    )
    model = keras.Model([user, tags, age], keras.layers.Dense(1, name="score")(joined))
    batch = [
        tf.constant([3, -4], tf.int64),
        tf.constant([["a", "b"], ["b", ""]]),
        tf.constant([[0.5], [-1.5]]),
    ]
    model(batch, training=True)  # Makes rows.
    export = ptf.serving.export(model, path, tf_example=True)
    signatures = tf.saved_model.load(export.path).signatures
    assert set(signatures) == {"serving_default", "tf_example"}
    examples = [
        example(user=[3], tags=[b"a", b"b"], age=[0.5]),
        example(user=[-4], tags=[b"b", b""], age=[-1.5]),
    ]
    found = signatures["tf_example"](examples=tf.constant(examples))["score"]
    expected = np.asarray(model(batch, training=False))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_ragged_and_sparse_inputs(embedding, path):
    class Vectors(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = embedding("ids", combiner="sum")

        def call(self, inputs):
            return self.embedding(inputs["ragged"]), self.embedding(inputs["sparse"])

    model = Vectors()
    specs = {
        "ragged": tf.RaggedTensorSpec((None, None), tf.int64),
        "sparse": tf.SparseTensorSpec((None, None), tf.int64),
    }
    rows = [[1, 2], [], [5]]
    ragged = tf.ragged.constant(rows, dtype=tf.int64)
    batch = {"ragged": ragged, "sparse": ragged.to_sparse()}
    model(batch, training=True)
    export = ptf.serving.export(model, path, inputs=specs, tf_example=True)
    serve = tf.saved_model.load(export.path).signatures["tf_example"]
    found = serve(examples=tf.constant([example(ragged=r, sparse=r) for r in rows]))
    for name, vectors in zip(("output_0", "output_1"), model(batch, training=False)):
        np.testing.assert_allclose(found[name], vectors, rtol=0, atol=1e-6)


def parsed(spec, *lists):
    parser = ExampleParser(Inputs(None, {"x": spec}))
    return parser.parse(tf.constant([example(x=values) for values in lists]))["x"]


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_integers_become_what_the_model_takes(dtype):
    found = parsed(tf.TensorSpec((None, 2), dtype), [0, 1], [1, 0])
    assert found.dtype == dtype
    assert found.numpy().astype(int).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_become_what_the_model_takes(dtype):
    found = parsed(tf.RaggedTensorSpec((None, None), dtype), [0.5], [], [1.5, 2.5])
    assert found.dtype == dtype and found.to_list() == [[0.5], [], [1.5, 2.5]]


def test_a_sparse_input_of_known_width_keeps_it():
    found = parsed(tf.SparseTensorSpec((None, 4), tf.int32), [7], [8, 9])
    assert found.dtype == tf.int32
    np.testing.assert_array_equal(
        tf.sparse.to_dense(found), [[7, 0, 0, 0], [8, 9, 0, 0]]
    )


@pytest.mark.parametrize(
    "spec",
    [
        tf.TensorSpec((), tf.int64),
        tf.TensorSpec((8, 2), tf.int64),
        tf.TensorSpec((None, None), tf.int64),
        tf.TensorSpec((None,), tf.complex64),
        tf.RaggedTensorSpec((None, None, None), tf.int64),
        tf.SparseTensorSpec((None, 2, 3), tf.int64),
    ],
    ids=repr,
)
def test_inputs_that_an_example_cannot_hold_are_refused(spec):
    with pytest.raises(ValueError, match="input 'x' cannot be a feature of tf.Example"):
        ExampleParser(Inputs(None, {"x": spec}))
