"""Lookups stay on the host when the model is on a GPU.

No GPU is needed: a traced graph shows which device each op asks for.
"""

import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

DENSE_IDS = tf.TensorSpec((None, 3), tf.int64)
RAGGED_IDS = tf.RaggedTensorSpec((None, None), tf.int64)
SPARSE_IDS = tf.SparseTensorSpec((None, 9), tf.int64)
HASHED = ptf.compression.HashStack(buckets=100)


class Classifier(keras.Model):
    """A model with one embedding, which gets ids of any type unchanged."""

    def __init__(self, table, **options):
        super().__init__()
        self.embedding = ptf.layers.PersiaEmbedding(4, table=table, **options)
        self.dense = keras.layers.Dense(1)

    def call(self, inputs, training=None):
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        vectors = self.embedding(*inputs, training=training)
        if isinstance(vectors, tf.RaggedTensor):
            vectors = vectors.flat_values
        return self.dense(tf.reshape(tf.cast(vectors, tf.float32), [-1, 4]))


def trace_step_on_a_gpu(table, spec, **options):
    """Returns the ops of a step that asks for a GPU."""
    model = Classifier(table, **options)
    model.embedding.build((None, 3))
    model.dense.build((None, 4))
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(inputs):
        with tf.device("GPU:0"):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(inputs, training=True))
            variables = model.trainable_variables
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables))
            return loss

    return step.get_concrete_function(spec).graph


def ops_that_take_ids(graph):
    """The ops with inputs of int64 that come from the graph's inputs."""
    came = {x.ref() for x in graph.inputs if x.dtype == tf.int64}
    for op in graph.get_operations():  # In topological order.
        if any(x.ref() in came for x in op.inputs):
            yield op
            came.update(x.ref() for x in op.outputs if x.dtype == tf.int64)


def on_gpu(ops):
    return [(op.type, op.name) for op in ops if "GPU" in op.device]


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (DENSE_IDS, {}),
        (DENSE_IDS, {"dtype": "mixed_float16"}),
        (DENSE_IDS, {"mask_zero": True}),
        (DENSE_IDS, {"combiner": "sum"}),
        (DENSE_IDS, {"combiner": "mean", "mask_zero": True}),
        (DENSE_IDS, {"compression": HASHED}),
        (DENSE_IDS, {"compression": HASHED, "combiner": "sqrtn", "mask_zero": True}),
        (RAGGED_IDS, {}),
        (RAGGED_IDS, {"combiner": "mean", "mask_zero": True}),
        (SPARSE_IDS, {"combiner": "sum"}),
        (
            (DENSE_IDS, tf.TensorSpec((None, 3), tf.float32)),
            {"combiner": "sum", "mask_zero": True},
        ),
    ],
)
def test_ids_stay_on_the_host(spec, options, table):
    graph = trace_step_on_a_gpu(table, spec, **options)
    assert on_gpu(ops_that_take_ids(graph)) == []
    own = [op for op in graph.get_operations() if op.type.startswith("Persia")]
    kinds = {op.type.removeprefix("Persia") for op in own}
    assert kinds == {"Issue", "Rows", "Stage", "Commit"}
    assert on_gpu(own) == []
    assert "MatMul" in {kind for kind, _ in on_gpu(graph.get_operations())}
