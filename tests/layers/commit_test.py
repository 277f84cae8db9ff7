"""Rows are pushed if, and only if, the optimizer steps the layer."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = np.arange(32, dtype="int64")
LABELS = np.ones((32, 1), "float32")


@pytest.fixture
def embedded():
    return ptf.Cluster.embedded()


@pytest.fixture
def pushes(embedded):
    """Counts commits and pushes since the fixture was made."""

    def counters():
        return embedded.session.counters()

    start = counters()
    return lambda name="committed": counters()[name] - start[name]


def make_model(table, **layer_arguments):
    inputs = keras.Input(shape=(), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, optimizer=ptf.optimizers.SGD(1.0), **layer_arguments
    )
    return keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))


def rows_of(model, embedded):
    embedded.flush()
    return np.array(model.layers[1](tf.constant(IDS), training=False))


def test_fit_commits_once_a_step(table, pushes):
    model = make_model(table)
    model.compile("adam", "mse")
    model.fit(IDS, LABELS, batch_size=8, epochs=3, verbose=0)
    assert pushes() == 12


def test_train_on_batch_commits_once(table, pushes):
    model = make_model(table)
    model.compile("adam", "mse")
    for expected in (1, 2, 3):
        model.train_on_batch(IDS, LABELS)
        assert pushes() == expected


def test_steps_per_execution_commits_once_a_step(table, pushes):
    model = make_model(table)
    model.compile("adam", "mse", steps_per_execution=4)
    model.fit(IDS, LABELS, batch_size=4, epochs=2, verbose=0)
    assert pushes() == 16


def test_run_eagerly_commits_once_a_step(table, pushes):
    model = make_model(table)
    model.compile("adam", "mse", run_eagerly=True)
    model.fit(IDS, LABELS, batch_size=8, verbose=0)
    assert pushes() == 4


@pytest.mark.parametrize("in_graph", [False, True])
def test_custom_loop_commits_once_a_step(in_graph, table, pushes):
    model = make_model(table)
    optimizer = keras.optimizers.Adam()
    optimizer.build(model.trainable_variables)

    def step(ids, labels):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(ids, training=True) - labels) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    run = tf.function(step) if in_graph else step
    for _ in range(5):
        run(tf.constant(IDS), tf.constant(LABELS))
    assert pushes() == 5


@pytest.mark.parametrize("repetition", range(3))
def test_gradients_that_need_no_rows_wait_for_them(repetition, table, pushes, embedded):
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, optimizer=ptf.optimizers.SGD(1.0), embeddings_initializer="ones"
    )
    layer.build((None,))
    optimizer = keras.optimizers.SGD()
    optimizer.build(layer.trainable_variables)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True))
        gradients = tape.gradient(loss, layer.trainable_variables)
        optimizer.apply_gradients(zip(gradients, layer.trainable_variables))

    step(tf.constant(IDS))
    embedded.flush()
    assert pushes("gradients_absent") == 0
    np.testing.assert_array_equal(np.array(layer(tf.constant(IDS))), 0.0)
    assert len(ptf.Table(table, cluster=embedded)) == len(IDS)


def test_evaluate_and_predict_push_nothing(table, pushes):
    model = make_model(table)
    model.compile("adam", "mse")
    model.evaluate(IDS, LABELS, verbose=0)
    model.predict(IDS, verbose=0)
    assert pushes() == 0
    assert pushes("training_lookups") == 0


@pytest.mark.parametrize("frozen_at", ["construction", "later"])
def test_frozen_layer_pushes_nothing(frozen_at, table, pushes, embedded):
    model = make_model(table, trainable=frozen_at != "construction")
    model.layers[1].trainable = False
    model.compile("adam", "mse")
    model.fit(IDS, LABELS, batch_size=8, verbose=0)
    assert pushes() == 0
    assert pushes("training_lookups") == 0


def test_unfrozen_layer_pushes_again(table, pushes):
    model = make_model(table)
    model.layers[1].trainable = False
    model.compile("adam", "mse")
    model.fit(IDS, LABELS, verbose=0)
    model.layers[1].trainable = True
    model.compile("adam", "mse")
    model.fit(IDS, LABELS, verbose=0)
    assert pushes() == 1


def test_gradients_of_other_weights_only_push_nothing(table, pushes, embedded):
    model = make_model(table)
    dense = model.layers[2]
    optimizer = keras.optimizers.SGD(0.1)
    created = np.array(model.layers[1](tf.constant(IDS), training=True))
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(IDS, training=True) - LABELS) ** 2)
        gradients = tape.gradient(loss, dense.trainable_variables)
        optimizer.apply_gradients(zip(gradients, dense.trainable_variables))
    assert pushes() == 0
    np.testing.assert_array_equal(rows_of(model, embedded), created)


def test_what_was_staged_and_not_committed_is_not_in_the_next_step(table, embedded):
    layer = ptf.layers.PersiaEmbedding(
        4, table=table, optimizer=ptf.optimizers.SGD(1.0)
    )
    optimizer = keras.optimizers.SGD()
    ids = tf.constant([1, 2], tf.int64)
    created = np.array(layer(ids, training=True))
    with tf.GradientTape() as tape:
        skipped = tf.reduce_sum(layer(ids, training=True) * 100.0)
    tape.gradient(skipped, layer.trainable_variables)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids, training=True))
    gradients = tape.gradient(loss, layer.trainable_variables)
    optimizer.apply_gradients(zip(gradients, layer.trainable_variables))
    embedded.flush()
    np.testing.assert_allclose(
        np.array(layer(ids, training=False)), created - 1.0, rtol=1e-6
    )


def test_stepping_a_call_that_was_not_for_training_says_training_true(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    ids = tf.constant([1], tf.int64)
    layer(ids)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids))
    gradients = tape.gradient(loss, layer.trainable_variables)
    with pytest.raises(tf.errors.FailedPreconditionError, match="training=True"):
        keras.optimizers.SGD().apply_gradients(
            zip(gradients, layer.trainable_variables)
        )


@pytest.mark.parametrize("prefetched", [False, True])
def test_a_model_whose_call_takes_no_training(prefetched, table, pushes):
    class Plain(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = ptf.layers.PersiaEmbedding(4, table=table)

        def call(self, inputs):
            return self.embedding(inputs)

    model = Plain()
    model.compile("sgd", "mse")
    dataset = tf.data.Dataset.from_tensors((IDS, LABELS))
    if prefetched:
        dataset = ptf.data.prefetch(dataset, model)
    model.fit(dataset, verbose=0)
    assert pushes() == 1


def test_a_model_whose_call_takes_training_need_not_hand_it_on(table, pushes):
    class Telling(keras.Model):
        def __init__(self):
            super().__init__()
            self.embedding = ptf.layers.PersiaEmbedding(4, table=table)

        def call(self, inputs, training=None):
            return self.embedding(inputs)

    model = Telling()
    model.compile("sgd", "mse")
    model.fit(IDS, LABELS, verbose=0)
    assert pushes() == 1


def test_two_gradients_of_one_call_are_refused_when_stepped(table):
    layer = ptf.layers.PersiaEmbedding(4, table=table)
    ids = tf.constant([1], tf.int64)
    layer(ids)
    with tf.GradientTape(persistent=True) as tape:
        loss = tf.reduce_sum(layer(ids, training=True))
    tape.gradient(loss, layer.trainable_variables)
    gradients = tape.gradient(loss, layer.trainable_variables)
    with pytest.raises(tf.errors.FailedPreconditionError, match="computed twice"):
        keras.optimizers.SGD().apply_gradients(
            zip(gradients, layer.trainable_variables)
        )


@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras does not accumulate")
def test_gradient_accumulation_is_refused(table):
    model = make_model(table)
    model.compile(keras.optimizers.Adam(gradient_accumulation_steps=2), "mse")
    with pytest.raises(NotImplementedError, match="gradient accumulation"):
        model.fit(IDS, LABELS, verbose=0)


def test_nonfinite_gradient_row_is_skipped_alone(table, pushes, embedded):
    layer = ptf.layers.PersiaEmbedding(
        2, table=table, optimizer=ptf.optimizers.SGD(1.0)
    )
    ids = tf.constant([1, 2, 3], tf.int64)
    created = np.array(layer(ids, training=True))
    factors = tf.constant([[1.0], [float("nan")], [float("inf")]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids, training=True) * factors)
    gradients = tape.gradient(loss, layer.trainable_variables)
    keras.optimizers.SGD().apply_gradients(zip(gradients, layer.trainable_variables))
    embedded.flush()
    rows = np.array(layer(ids, training=False))
    np.testing.assert_allclose(rows[0], created[0] - 1.0, rtol=1e-6)
    np.testing.assert_array_equal(rows[1:], created[1:])
    assert pushes("gradients_nonfinite") == 2
