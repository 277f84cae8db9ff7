"""XLA compiles the dense part of a model; the embedding stays out of it."""

import numpy as np
import programs
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = np.random.default_rng(0).integers(0, 30, (96, 3))
LABELS = np.random.default_rng(1).normal(size=(96, 1)).astype("float32")


def make_model(table, compiled, dtype="float32"):
    keras.utils.set_random_seed(1)
    ids = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4,
        table=table,
        embeddings_initializer="ones",
        optimizer=ptf.optimizers.SGD(0.1),
        cluster=ptf.Cluster.embedded(),
        dtype=dtype,
    )(ids)
    dense = keras.Sequential(
        [
            keras.layers.Flatten(dtype=dtype),
            keras.layers.Dense(8, activation="relu", dtype=dtype),
            keras.layers.BatchNormalization(dtype=dtype),
            keras.layers.Dropout(0.0, dtype=dtype),
            keras.layers.Dense(1),
        ],
        name="dense",
    )
    if compiled:
        dense.call = tf.function(dense.call, jit_compile=True)
    return keras.Model(ids, dense(vectors))


def train(table, compiled, dtype="float32"):
    """Returns the rows and the dense weights after some synchronous steps."""
    model = make_model(table, compiled, dtype)
    optimizer = keras.optimizers.SGD(0.1)
    if dtype == "mixed_float16":
        optimizer = keras.mixed_precision.LossScaleOptimizer(optimizer)
    model.compile(optimizer, "mse")
    for step in range(0, len(IDS), 16):
        model.train_on_batch(IDS[step : step + 16], LABELS[step : step + 16])
        ptf.flush()
    return ptf.Table(table, ptf.Cluster.embedded()).lookup(np.arange(30)), model


def functions_with(graph_def, attribute):
    return [f for f in graph_def.library.function if attribute in f.attr]


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float32", 1e-5), ("mixed_float16", 2e-2)]
)
def test_rows_train_beside_a_compiled_dense_part(dtype, tolerance, table):
    expected_rows, expected = train(f"{table}_plain", False, dtype)
    rows, model = train(f"{table}_compiled", True, dtype)
    assert np.abs(rows - 1).max() > 0.05
    np.testing.assert_allclose(rows, expected_rows, atol=tolerance)
    for weight, other in zip(model.get_weights(), expected.get_weights()):
        np.testing.assert_allclose(weight, other, atol=tolerance)


def test_the_dense_part_alone_is_compiled(table):
    model = make_model(table, compiled=True)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(ids, training=True))
        return tape.gradient(loss, model.trainable_variables)

    graph = step.get_concrete_function(tf.TensorSpec((None, 3), tf.int64)).graph
    compiled = functions_with(graph.as_graph_def(), "_XlaMustCompile")
    kinds = {node.op for function in compiled for node in function.node_def}
    assert "MatMul" in kinds
    assert not any(kind.startswith("Persia") for kind in kinds)
    outside = {op.type for op in graph.get_operations()}
    assert {"PersiaIssue", "PersiaStage"} <= outside
    # The gradient is compiled too.
    assert "MatMul" not in outside


def test_evaluation_and_prediction_are_compiled_too(table):
    model = make_model(table, compiled=True)
    model.compile("sgd", "mse")
    loss = model.evaluate(IDS, LABELS, verbose=0)
    predicted = model.predict(IDS, verbose=0)
    assert loss == pytest.approx(np.mean((predicted - LABELS) ** 2), rel=1e-4)


def test_a_dense_part_that_is_compiled_can_be_saved(table, tmp_path):
    _, model = train(table, compiled=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(
        loaded.predict(IDS, verbose=0), model.predict(IDS, verbose=0), atol=1e-5
    )


REPLICAS = """
def rows_trained(table, compiled):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        ids = keras.Input((3,), dtype="int64")
        layer = ptf.layers.PersiaEmbedding(
            4, table=table, embeddings_initializer="ones",
            optimizer=ptf.optimizers.SGD(0.1), combiner="sum",
        )
        dense = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
        if compiled:
            dense.call = tf.function(dense.call, jit_compile=True)
        model = keras.Model(ids, dense(layer(ids)))
        model.compile("sgd", "mse")
    for _ in range(4):
        model.train_on_batch(np.arange(48).reshape(16, 3) % 20, np.ones((16, 1)))
        ptf.flush()
    return ptf.Table(table).lookup(np.arange(20))


expected = rows_trained("plain", False)
assert np.abs(expected - 1).max() > 0.01
np.testing.assert_allclose(rows_trained("compiled", True), expected, atol=1e-5)
"""


@pytest.mark.slow
def test_each_replica_may_have_a_compiled_dense_part(run_python):
    run_python(programs.preamble("mirrored") + REPLICAS)


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras asks no layer")
def test_keras_compiles_no_step_that_has_the_layer(table):
    model = make_model(table, compiled=False)
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model.compile("sgd", "mse", jit_compile=True)
    model.fit(IDS, LABELS, verbose=0)


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras compiles nothing by itself")
def test_keras_compiles_nothing_by_itself_on_a_gpu(table, monkeypatch):
    gpu = tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [gpu])
    plain = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    plain.compile("sgd", "mse")
    assert plain.jit_compile is True
    model = make_model(table, compiled=False)
    model.compile("sgd", "mse")
    assert model.jit_compile is False


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 asks the layer first")
def test_tf_keras_says_which_op_cannot_be_compiled(table):
    model = make_model(table, compiled=False)
    model.compile("sgd", "mse", jit_compile=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="PersiaIssue"):
        model.fit(IDS, LABELS, verbose=0)
