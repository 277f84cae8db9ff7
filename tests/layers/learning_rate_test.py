"""Learning rates of rows: set while training goes on, and from schedules."""

import copy
import re

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

ID = 7
schedules = keras.optimizers.schedules


@keras.saving.register_keras_serializable(package="persia_tf_tests")
class OneOver(schedules.LearningRateSchedule):
    """1 at the first step, then 1/2, 1/3: the rate is different in each step."""

    def __call__(self, step):
        return 1.0 / (tf.cast(step, tf.float32) + 1.0)

    def get_config(self):
        return {}


def one_over(steps):
    return [1 / (step + 1) for step in range(steps)]


def total(_, outputs):
    """A loss whose gradient is 1 for every output."""
    return tf.reduce_sum(outputs)


def make_layer(table, learning_rate, cls=ptf.optimizers.SGD, **arguments):
    """Makes a layer with rows of one weight, which begin at 0."""
    return ptf.layers.PersiaEmbedding(
        1,
        table=table,
        embeddings_initializer="zeros",
        optimizer=cls(learning_rate),
        cluster=ptf.Cluster.embedded(),
        **arguments,
    )


def make_model(*layers, **compile_arguments):
    """With the loss `total`, each step moves row `ID` of each layer by its rate."""
    inputs = keras.Input(shape=(), dtype="int64")
    outputs = [layer(inputs) for layer in layers]
    added = outputs[0] if len(outputs) == 1 else keras.layers.Add()(outputs)
    model = keras.Model(inputs, added)
    model.compile("sgd", total, **compile_arguments)
    return model


def fit(model, steps, epochs=1, **arguments):
    ids = np.full(steps, ID, "int64")
    labels = np.zeros((steps, 1), "float32")
    model.fit(ids, labels, batch_size=1, epochs=epochs, verbose=0, **arguments)


def weight(layer):
    return float(layer(tf.constant([ID], tf.int64))[0, 0])


def step(layer, optimizer=None):
    optimizer = optimizer or keras.optimizers.SGD()
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([ID], tf.int64), training=True))
    gradients = tape.gradient(loss, layer.trainable_variables)
    optimizer.apply_gradients(zip(gradients, layer.trainable_variables))


# Keras's own callback sets the rate of the model's optimizer, not of its rows.
class SetRate(keras.callbacks.Callback):
    """Sets a layer's rate to 10 to the power of minus the number of the event."""

    def __init__(self, layer, event):
        super().__init__()
        self.layer = layer
        self.events = 0
        setattr(self, event, self.set_rate)

    def set_rate(self, *_, **__):
        self.events += 1
        self.layer.optimizer.learning_rate = 10.0**-self.events


@pytest.mark.parametrize(
    "arguments", [{}, {"run_eagerly": True}], ids=["graph", "eager"]
)
def test_rate_set_at_an_epochs_end_is_the_next_epochs(arguments, table):
    layer = make_layer(table, 1.0)
    model = make_model(layer, **arguments)
    fit(model, steps=2, epochs=3, callbacks=[SetRate(layer, "on_epoch_end")])
    assert weight(layer) == pytest.approx(-2.22, abs=1e-6)


def test_rate_set_at_a_batchs_end_is_the_next_batchs(table):
    layer = make_layer(table, 1.0)
    fit(make_model(layer), steps=3, callbacks=[SetRate(layer, "on_train_batch_end")])
    assert weight(layer) == pytest.approx(-1.11, abs=1e-6)


def test_rate_set_with_steps_per_execution_is_the_next_executions(table):
    layer = make_layer(table, 1.0)
    model = make_model(layer, steps_per_execution=2)
    fit(model, steps=6, callbacks=[SetRate(layer, "on_train_batch_end")])
    assert weight(layer) == pytest.approx(-2.22, abs=1e-6)


@pytest.mark.parametrize("in_graph", [False, True])
def test_rate_set_in_a_custom_loop_is_the_next_steps(in_graph, table):
    layer = make_layer(table, 1.0)
    layer.build((None,))
    optimizer = keras.optimizers.SGD()
    optimizer.build(layer.trainable_variables)
    run = tf.function(step) if in_graph else step
    for rate in (1.0, 0.1, 0.01):
        layer.optimizer.learning_rate = rate
        run(layer, optimizer)
    assert weight(layer) == pytest.approx(-1.11, abs=1e-6)


def test_rate_reaches_every_layer_of_one_optimizer(table):
    first = make_layer(table, 1.0)
    second = make_layer(table + "b", 1.0)
    second.optimizer = first.optimizer
    model = make_model(first, second)
    fit(model, 1)
    first.optimizer.learning_rate = 0.5
    fit(model, 1)
    assert weight(first) == weight(second) == -1.5


def test_rate_of_a_copy_is_its_own(table):
    layer = make_layer(table, 1.0)
    step(layer)
    made = copy.deepcopy(layer.optimizer)
    made.learning_rate = 0.25
    step(layer)
    assert weight(layer) == -2
    assert (layer.optimizer.learning_rate, made.learning_rate) == (1.0, 0.25)


@pytest.mark.parametrize("rate", [np.float32(0.5), tf.constant(0.5), tf.Variable(0.5)])
def test_rate_may_be_set_to_what_holds_a_number(rate, table):
    layer = make_layer(table, 1.0)
    layer.optimizer.learning_rate = rate
    step(layer)
    assert layer.optimizer.learning_rate == 0.5
    assert weight(layer) == -0.5


def test_layers_of_one_table_may_have_other_rates(table):
    make_layer(table, 1.0).build((None,))
    layer = make_layer(table, 0.25)
    step(layer)
    assert weight(layer) == -0.25


@pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf"), 1e300])
def test_rate_out_of_range_is_refused_and_changes_nothing(rate, table):
    layer = make_layer(table, 1.0)
    step(layer)
    message = f"a finite number of at least 0. Received: learning_rate={rate}"
    with pytest.raises(ValueError, match=re.escape(message)):
        layer.optimizer.learning_rate = rate
    step(layer)
    assert layer.optimizer.learning_rate == 1.0
    assert weight(layer) == -2


def test_schedule_cannot_be_set_or_replaced():
    fixed, scheduled = ptf.optimizers.SGD(0.1), ptf.optimizers.SGD(OneOver())
    with pytest.raises(TypeError, match="`learning_rate` of SGD"):
        fixed.learning_rate = OneOver()
    with pytest.raises(TypeError, match="`learning_rate` of SGD"):
        scheduled.learning_rate = 0.1


@pytest.mark.parametrize(
    "schedule",
    [
        schedules.ExponentialDecay(0.5, 10, 0.5),
        schedules.ExponentialDecay(0.5, 10, 0.5, staircase=True),
        schedules.PiecewiseConstantDecay([5, 20], [0.5, 0.1, 0.02]),
        schedules.CosineDecay(0.5, 30),
        schedules.PolynomialDecay(0.5, 20),
    ],
    ids=lambda schedule: type(schedule).__name__,
)
def test_schedule_gives_each_step_the_rate_that_keras_gives_it(schedule, table):
    layer = make_layer(table, schedule, ptf.optimizers.Adam)
    layer.build((None,))
    dense = tf.Variable([0.0])
    ours, theirs = keras.optimizers.SGD(), keras.optimizers.Adam(schedule)
    ours.build(layer.trainable_variables)
    theirs.build([dense])

    @tf.function
    def step_both():
        step(layer, ours)
        theirs.apply_gradients([(tf.constant([1.0]), dense)])

    for _ in range(35):
        step_both()
        assert weight(layer) == pytest.approx(float(dense[0]), abs=1e-6)
    assert weight(layer) < -1


@pytest.mark.parametrize(
    "arguments",
    [{}, {"run_eagerly": True}, {"steps_per_execution": 3}],
    ids=["graph", "eager", "steps_per_execution"],
)
def test_schedules_step_is_the_number_of_committed_steps(arguments, table):
    layer = make_layer(table, OneOver())
    fit(make_model(layer, **arguments), steps=3, epochs=2)
    assert weight(layer) == pytest.approx(-sum(one_over(6)), abs=1e-6)


def test_what_commits_nothing_is_no_step_of_the_schedule(table):
    layer = make_layer(table, OneOver())
    model = make_model(layer)
    ids, labels = np.full(4, ID, "int64"), np.zeros((4, 1), "float32")
    fit(model, 1)
    model.evaluate(ids, labels, verbose=0)
    model.predict(ids, verbose=0)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([ID], tf.int64), training=True))
    tape.gradient(loss, layer.trainable_variables)
    fit(model, 1)
    assert weight(layer) == pytest.approx(-1.5, abs=1e-6)


def test_commit_that_fails_is_no_step_of_the_schedule(table):
    layer = make_layer(table, OneOver())
    step(layer)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(tf.constant([ID], tf.int64), training=False))
    gradients = tape.gradient(loss, layer.trainable_variables)
    with pytest.raises(tf.errors.FailedPreconditionError):
        keras.optimizers.SGD().apply_gradients(
            zip(gradients, layer.trainable_variables)
        )
    step(layer)
    assert weight(layer) == pytest.approx(-1.5, abs=1e-6)


def test_each_layer_of_one_schedule_counts_its_own_steps(table):
    first = make_layer(table, OneOver())
    second = make_layer(table + "b", 1.0)
    second.optimizer = first.optimizer
    for layer in (first, first, second):
        step(layer)
    assert weight(first) == pytest.approx(-1.5, abs=1e-6)
    assert weight(second) == -1


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("run_eagerly", [False, True])
def test_schedule_that_gives_no_rate_fails_the_step_by_name(value, run_eagerly, table):
    class Bad(schedules.LearningRateSchedule):
        def __call__(self, step):
            return tf.where(step < 1, 1.0, value)

    layer = make_layer(table, Bad())
    model = make_model(layer, run_eagerly=run_eagerly)
    fit(model, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="`learning_rate` of SGD"):
        fit(model, 1)
    assert weight(layer) == -1


@pytest.mark.parametrize("schedule", [OneOver(), schedules.CosineDecay(0.5, 30)])
def test_schedule_survives_the_config(schedule, table):
    layer = make_layer(table, schedule)
    config = layer.get_config()
    made = ptf.layers.PersiaEmbedding.from_config(config)
    assert type(made.optimizer.learning_rate) is type(schedule)
    assert made.get_config() == config


def test_config_has_the_rate_of_now():
    optimizer = ptf.optimizers.SGD(1.0)
    optimizer.learning_rate = 0.25
    assert optimizer.get_config()["learning_rate"] == 0.25


@pytest.mark.parametrize("rate", [0.5, OneOver()], ids=["number", "schedule"])
def test_rates_are_no_weights(rate, table, tmp_path):
    layer = make_layer(table, rate)
    model = make_model(layer)
    fit(model, 2)
    assert model.count_params() == 0
    assert [w.shape for w in model.get_weights()] == [(0,)]
    assert len(model.trainable_weights) == 1
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(
        tmp_path / "model.keras", custom_objects={"total": total}
    )
    fit(loaded, 1)
    # The schedule of the loaded layer begins again.
    assert weight(layer) == pytest.approx(-1.5 if rate == 0.5 else -2.5, abs=1e-6)


@pytest.mark.parametrize(
    "strategy",
    ["OneDeviceStrategy", "MirroredStrategy"],
    ids=["one device", "mirrored"],
)
@pytest.mark.parametrize("rate", [1.0, OneOver()], ids=["number", "schedule"])
def test_rates_under_a_strategy(strategy, rate, table):
    devices = "CPU:0" if strategy == "OneDeviceStrategy" else ["CPU:0"]
    with getattr(tf.distribute, strategy)(devices).scope():
        layer = make_layer(table, rate)
        model = make_model(layer)
    fit(model, steps=2)
    if rate == 1.0:
        layer.optimizer.learning_rate = 0.25
    fit(model, steps=1)
    moved = 2.25 if rate == 1.0 else sum(one_over(3))
    assert weight(layer) == pytest.approx(-moved, abs=1e-6)


def step_together(layers):
    anchors = [layer.trainable_variables[0] for layer in layers]
    with tf.GradientTape() as tape:
        ids = tf.constant([ID], tf.int64)
        loss = tf.add_n([tf.reduce_sum(layer(ids, training=True)) for layer in layers])
    gradients = tape.gradient(loss, anchors)
    keras.optimizers.SGD().apply_gradients(zip(gradients, anchors))


def test_update_of_layers_that_share_a_table_has_the_rate_of_the_last(table):
    layers = [make_layer(table, 1.0), make_layer(table, 0.25)]
    for layer in layers:
        layer.build((None,))
    step_together(layers)
    assert weight(layers[0]) == -2 * 0.25


def test_rate_reaches_layers_that_share_a_table_and_an_optimizer(table):
    layers = [make_layer(table, 1.0), make_layer(table, 1.0)]
    layers[1].optimizer = layers[0].optimizer
    for layer in layers:
        layer.build((None,))
    step_together(layers)
    layers[1].optimizer.learning_rate = 0.25
    step_together(layers)
    assert weight(layers[0]) == -2 * 1.25
