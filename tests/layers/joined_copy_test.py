"""Vectors of several layers go to a GPU in one copy, and so do their gradients back.

No GPU is needed: a graph that is traced tells which device each op asks for.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

BOTH = {
    "one": tf.TensorSpec((None, 3), tf.int64),
    "two": tf.TensorSpec((None, 5), "int64"),
}


class Scores(keras.Model):
    """Scores by two tables, one of which is pooled."""

    def __init__(self, table, join, **options):
        super().__init__()
        self.one = ptf.layers.PersiaEmbedding(4, table=f"{table}_1", **options)
        self.two = ptf.layers.PersiaEmbedding(
            8, table=f"{table}_2", combiner="sum", mask_zero=True, **options
        )
        self.join = join
        self.dense = keras.layers.Dense(1)

    def call(self, inputs, training=None):
        vectors = {
            "one": self.one(inputs["one"], training=training),
            "two": self.two(inputs["two"], training=training),
        }
        vectors = self.join(vectors)
        one = tf.reshape(vectors["one"], [-1, 12])
        return self.dense(tf.concat([one, vectors["two"]], axis=1))


def graph_of_a_step_on_a_gpu(model):
    model.one.build((None, 3))
    model.two.build((None, 5))
    model.dense.build((None, 20))
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(inputs):
        with tf.device("GPU:0"):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.cast(model(inputs, training=True), tf.float32))
            variables = model.trainable_variables
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables))

    return step.get_concrete_function(BOTH).graph


def ops_that_run(graph):
    """The ops that stateful ops depend on, and these themselves."""
    left = [op for op in graph.get_operations() if op.op_def.is_stateful]
    found = set()
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [*op.control_inputs, *(x.op for x in op.inputs)]
    return found


def copies(graph, here, there):
    """The tensors of floats that one device computes and the other uses.

    Left out are those with a few values for any batch size, such as anchors and the
    loss.
    """
    return {
        x.name
        for op in ops_that_run(graph)
        for x in op.inputs
        if there in op.device and here in x.op.device
        if x.dtype.is_floating and x.shape.num_elements() is None
    }


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
@pytest.mark.parametrize(("joins", "count"), [(True, 1), (False, 2)])
def test_one_copy_each_way(table, dtype, joins, count):
    join = ptf.layers.JoinedCopy(dtype=dtype) if joins else keras.layers.Identity()
    graph = graph_of_a_step_on_a_gpu(Scores(table, join, dtype=dtype))
    assert len(copies(graph, "CPU", "GPU")) == count
    assert len(copies(graph, "GPU", "CPU")) == count


def trained(table, cluster, join, dtype):
    keras.utils.set_random_seed(1)
    model = Scores(
        table,
        join,
        dtype=dtype,
        embeddings_initializer=keras.initializers.Constant(0.5),
        cluster=cluster,
    )
    model.compile("sgd", "mse")
    rng = np.random.default_rng(2)
    inputs = {"one": rng.integers(0, 9, (32, 3)), "two": rng.integers(0, 9, (32, 5))}
    labels = rng.random((32, 1)).astype("float32")
    model.fit(inputs, labels, batch_size=8, shuffle=False, verbose=0)
    rows = ptf.Table(f"{table}_2", cluster).lookup(np.arange(1, 9))
    return model.predict(inputs, verbose=0), rows


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
def test_a_model_trains_as_without_it(table, dtype, start_shards):
    [shard] = start_shards(1)
    cluster = ptf.Cluster([shard.address], timeout=20, staleness=0)
    joined = ptf.layers.JoinedCopy(dtype=dtype)
    expected = trained(f"{table}_a", cluster, keras.layers.Identity(), dtype)
    found = trained(f"{table}_b", cluster, joined, dtype)
    for one, other in zip(found, expected):
        np.testing.assert_array_equal(one, other)
    assert np.ptp(found[1]) > 1e-3  # They were trained.


def test_a_functional_model_knows_its_shapes():
    inputs = [keras.Input((3, 4)), keras.Input((5,))]
    outputs = ptf.layers.JoinedCopy()(inputs)
    assert [tuple(x.shape) for x in outputs] == [(None, 3, 4), (None, 5)]
    config = keras.Model(inputs, outputs).get_config()
    again = keras.Model.from_config(config)
    values = [np.ones((2, 3, 4), "float32"), np.zeros((2, 5), "float32")]
    for one, other in zip(again.predict(values, verbose=0), values):
        np.testing.assert_array_equal(one, other)


def test_masks_go_along(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table, mask_zero=True)
    ids, others = keras.Input((3,), dtype="int64"), keras.Input((4,))
    vectors, _ = ptf.layers.JoinedCopy()([layer(ids), others])
    mean = keras.layers.GlobalAveragePooling1D()
    joined = keras.Model([ids, others], mean(vectors))
    ptf.Table(table).assign([1, 2, 0], np.diag([1.0, 2.0, 3.0, 4.0])[:3])
    found = joined.predict([np.array([[1, 2, 0]]), np.ones((1, 4))], verbose=0)
    np.testing.assert_allclose(found, [[0.5, 1, 0, 0]])


@pytest.mark.skipif(not IS_KERAS_3, reason="these are checks of Keras 3")
def test_the_checks_of_keras_3():
    from keras.src.testing import TestCase

    TestCase().run_layer_test(
        ptf.layers.JoinedCopy,
        {},
        input_shape=((2, 3), (2, 4, 5)),
        expected_output_shape=((2, 3), (2, 4, 5)),
        expected_num_trainable_weights=0,
        expected_num_losses=0,
        supports_masking=True,
    )


@pytest.mark.parametrize(
    ("inputs", "received"),
    [
        ([tf.ones((2,)), tf.ragged.constant([[1.0]])], "RaggedTensor"),
        ([tf.ones((2,)), tf.ones((2,), tf.float16)], "float16, float32"),
    ],
)
def test_what_cannot_be_one_tensor_is_refused(inputs, received):
    with pytest.raises(ValueError, match=f"Received: {received}"):
        ptf.layers.JoinedCopy()(inputs)
