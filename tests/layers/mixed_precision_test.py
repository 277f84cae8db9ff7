"""Rows train in mixed precision as they do in float32, whatever scales the loss.

The models multiply rows by a kernel of powers of two that is not trained, and the
labels are the gradients with respect to the outputs. If all numbers are powers of two,
float16 is exact, and therefore the rows must be exact too.
"""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = np.arange(8, dtype="int64")
DIM = 4
SCALES = ["1", "2^15", "dynamic"]


def scaled(kind, initial_scale=2.0**15, growth_steps=2000):
    """An optimizer that scales the loss, and does not move the dense weights."""
    scaler = keras.mixed_precision.LossScaleOptimizer
    inner = keras.optimizers.SGD(0.0)
    if kind == "dynamic":
        return scaler(
            inner, initial_scale=initial_scale, dynamic_growth_steps=growth_steps
        )
    factor = {"1": 1.0, "2^15": 2.0**15}[kind]
    if IS_KERAS_3:
        return keras.optimizers.SGD(0.0, loss_scale_factor=factor)
    return scaler(inner, dynamic=False, initial_scale=factor)


def scale_of(optimizer):
    return float(optimizer.dynamic_scale if IS_KERAS_3 else optimizer.loss_scale)


def output_times_label(labels, outputs):
    return tf.cast(labels, tf.float32) * tf.cast(outputs, tf.float32)


def make_layer(table, dtype, cluster=None, optimizer=None, **arguments):
    return ptf.layers.PersiaEmbedding(
        DIM,
        table=table,
        embeddings_initializer=keras.initializers.Constant(0.5),
        optimizer=optimizer or ptf.optimizers.SGD(1.0),
        cluster=cluster or ptf.Cluster.embedded(),
        dtype=dtype,
        **arguments,
    )


def make_dense(dtype, kernel):
    return keras.layers.Dense(
        1,
        use_bias=False,
        kernel_initializer=keras.initializers.Constant(kernel),
        dtype=dtype,
    )


def make_model(table, dtype, cluster=None, kernel=1.0, **arguments):
    inputs = keras.Input(shape=(), dtype="int64")
    layer = make_layer(table, dtype, cluster, **arguments)
    return keras.Model(inputs, make_dense(dtype, kernel)(layer(inputs)))


class Subclassed(keras.Model):
    def __init__(self, table, dtype, cluster=None):
        super().__init__()
        self.embedding = make_layer(table, dtype, cluster)
        self.dense = make_dense(dtype, 1.0)

    def call(self, ids, training=None):
        return self.dense(self.embedding(ids, training=training))


def embedding_of(model):
    [layer] = [x for x in model.layers if isinstance(x, ptf.layers.PersiaEmbedding)]
    return layer


def rows_of(model):
    """The rows of all ids, in float32."""
    layer = embedding_of(model)
    return ptf.Table(layer.table, cluster=layer.cluster).lookup(IDS)


def powers_of_two(steps=4):
    """The (ids, labels) of some steps; all ids occur in each, some repeatedly."""
    random = np.random.default_rng(0)
    for _ in range(steps):
        ids = random.permutation([*IDS, *random.integers(0, len(IDS), size=8)])
        yield ids, 2.0 ** random.integers(-3, 2, size=(16, 1))


def trained_by(steps):
    """The exact rows after plain SGD."""
    rows = np.full((len(IDS), DIM), 0.5, "float32")
    for ids, labels in steps:
        np.subtract.at(rows, ids, np.float32(labels / len(ids)))
    return rows


def dataset_of(steps):
    ids, labels = zip(*steps)
    data = np.concatenate(ids), np.concatenate(labels).astype("float32")
    return tf.data.Dataset.from_tensor_slices(data).batch(16)


@pytest.fixture
def counters():
    """The counters of the embedded session since the fixture was made."""

    def now():
        return ptf.Cluster.embedded().session.counters()

    start = now()
    return lambda name: now()[name] - start[name]


@pytest.fixture
def global_float16():
    keras.mixed_precision.set_global_policy("mixed_float16")
    yield
    keras.mixed_precision.set_global_policy("float32")


@pytest.mark.parametrize(
    ("dtype", "scale"),
    [
        *[("mixed_float16", scale) for scale in SCALES],
        ("mixed_bfloat16", "dynamic"),
        *[("float32", scale) for scale in SCALES],
    ],
)
def test_rows_are_exact_where_numbers_are_powers_of_two(dtype, scale, table, cluster):
    model = make_model(table, dtype, cluster)
    model.compile(scaled(scale), output_times_label)
    model.fit(dataset_of(powers_of_two()), verbose=0)
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


@pytest.mark.parametrize(
    ("dtype", "scale", "tolerance"),
    [
        *[("mixed_float16", scale, 2e-3) for scale in SCALES],
        ("mixed_bfloat16", "1", 2e-2),
    ],
)
def test_rows_are_as_in_float32(dtype, scale, tolerance, table, cluster):
    random = np.random.default_rng(0)
    ids = random.integers(0, len(IDS), size=512)
    targets = random.normal(size=(512, 1)).astype("float32")

    def train(dtype, optimizer):
        model = make_model(f"{table}_{dtype}", dtype, cluster)
        # The kernel is not trained: its gradient is a sum, which a static scale
        # overflows.
        model.layers[-1].trainable = False
        model.compile(optimizer, "mse")
        for step in range(0, len(ids), 32):
            model.train_on_batch(ids[step : step + 32], targets[step : step + 32])
            cluster.flush()
        return rows_of(model)

    expected = train("float32", keras.optimizers.SGD(0.0))
    assert np.abs(expected - 0.5).max() > 0.1
    rows = train(dtype, scaled(scale))
    np.testing.assert_allclose(rows, expected, atol=tolerance)


@pytest.mark.parametrize("make", [make_model, Subclassed])
@pytest.mark.parametrize("staleness", [0, 3])
def test_rows_are_exact_under_prefetch(staleness, make, table, cluster):
    steps = list(powers_of_two(steps=8))
    model = make(table, "mixed_float16", cluster)
    found_before = cluster.session.counters()["prefetch_hits"]
    model.compile(scaled("dynamic"), output_times_label)
    dataset = ptf.data.prefetch(dataset_of(steps), model, staleness=staleness)
    model.fit(dataset, verbose=0, validation_data=dataset_of(steps))
    np.testing.assert_array_equal(rows_of(model), trained_by(steps))
    assert model.predict(IDS, verbose=0).dtype == np.float16
    if staleness > 0:
        assert cluster.session.counters()["prefetch_hits"] > found_before


@pytest.mark.parametrize("how", [{"steps_per_execution": 4}, {"run_eagerly": True}])
def test_rows_are_exact_however_steps_run(how, table):
    model = make_model(table, "mixed_float16")
    model.compile(scaled("dynamic"), output_times_label, **how)
    model.fit(dataset_of(powers_of_two()), verbose=0)
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_a_global_policy_with_the_scaler_of_compile(dtype, global_float16, table):
    model = make_model(table, dtype)
    model.compile(keras.optimizers.SGD(0.0), output_times_label)
    model.fit(dataset_of(powers_of_two()), verbose=0)
    assert "LossScaleOptimizer" in type(model.optimizer).__name__
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


def test_a_scheduled_learning_rate_of_rows_steps_with_the_scaler(table):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1], [1.0, 0.5])
    model = make_model(
        table, "mixed_float16", optimizer=ptf.optimizers.SGD(schedule), kernel=2.0**10
    )
    model.compile(scaled("dynamic", initial_scale=2.0**10), output_times_label)
    # The second step overflows, so it does not count for the schedule.
    for label in (2.0**-6, 1.0, 2.0**-6, 2.0**-6):
        model.train_on_batch(IDS, np.full((8, 1), label, "float32"))
    gradient = 2.0**-6 * 2.0**10 / 8
    np.testing.assert_array_equal(rows_of(model), 0.5 - gradient * (1 + 1 + 0.5))


# Labels, which are multiplied by the kernel of the tests below, for a scale of 2^10.
FITS = 2.0**-6
OVERFLOWS_IN_ROWS_ONLY = 1.0
OVERFLOWS_EVERYWHERE = 2.0**12


@pytest.mark.parametrize("overflowing", [OVERFLOWS_IN_ROWS_ONLY, OVERFLOWS_EVERYWHERE])
@pytest.mark.parametrize("prefetched", [False, True])
def test_no_row_moves_in_any_step_that_overflows(
    overflowing, prefetched, table, counters
):
    model = make_model(table, "mixed_float16", kernel=2.0**10)
    optimizer = scaled("dynamic", initial_scale=2.0**10, growth_steps=2)
    model.compile(optimizer, output_times_label)
    expected = np.full((len(IDS), DIM), 0.5, "float32")
    scale = 2.0**10
    steps = [FITS, FITS, overflowing, FITS, FITS, overflowing, FITS, overflowing, FITS]
    for number, label in enumerate(steps):
        data = tf.data.Dataset.from_tensors((IDS, np.full((8, 1), label, "float32")))
        if prefetched:
            data = ptf.data.prefetch(data, model, staleness=0)
        model.fit(data, verbose=0)
        if label == FITS:
            expected -= label * 2.0**10 / 8
        np.testing.assert_array_equal(rows_of(model), expected, f"step {number}")
        scale = scale / 2 if label == overflowing else scale
        scale *= 2 if number in (1, 4) else 1
        assert scale_of(optimizer) == scale, f"step {number}"
    assert counters("committed") == steps.count(FITS)
    assert counters("gradients_discarded") == steps.count(overflowing)
    assert counters("gradients_nonfinite") == 0


def test_a_scale_that_skips_no_step_skips_rows_alone(table, counters):
    if IS_KERAS_3:
        optimizer = keras.optimizers.SGD(0.1, momentum=0.9, loss_scale_factor=2.0**10)
    else:
        optimizer = keras.mixed_precision.LossScaleOptimizer(
            keras.optimizers.SGD(0.1, momentum=0.9), dynamic=False, initial_scale=2**10
        )
    model = make_model(table, "mixed_float16", kernel=2.0**10)
    model.layers[-1].trainable = False
    model.compile(optimizer, output_times_label)
    labels = np.full((8, 1), FITS, "float32")
    labels[3] = OVERFLOWS_IN_ROWS_ONLY
    for _ in range(3):
        model.train_on_batch(IDS, labels)
    expected = np.full((len(IDS), DIM), 0.5 - 3 * FITS * 2.0**10 / 8)
    expected[3] = 0.5
    np.testing.assert_array_equal(rows_of(model), expected)
    assert counters("gradients_nonfinite") == 3
    assert counters("gradients_discarded") == 0
    assert np.isfinite(embedding_of(model).get_weights()[0]).all()


def run_custom_loop(model, optimizer, in_graph, loss_of, steps):
    """Trains in a custom loop, whose loss `optimizer` scales if it can."""
    variables = model.trainable_variables
    optimizer.build(variables)

    def step(ids, labels):
        with tf.GradientTape() as tape:
            loss = loss_of(ids, labels)
            if IS_KERAS_3:
                loss = optimizer.scale_loss(loss)
            elif hasattr(optimizer, "get_scaled_loss"):
                loss = optimizer.get_scaled_loss(loss)
        gradients = tape.gradient(loss, variables)
        if hasattr(optimizer, "get_unscaled_gradients"):
            gradients = optimizer.get_unscaled_gradients(gradients)
        optimizer.apply_gradients(zip(gradients, variables))

    run = tf.function(step) if in_graph else step
    for ids, labels in steps:
        run(tf.constant(ids), tf.constant(labels, tf.float32))


def mean_loss(model, ids, labels):
    return tf.reduce_mean(output_times_label(labels, model(ids, training=True)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("in_graph", [False, True])
def test_custom_loop_that_adds_the_losses_is_exact(in_graph, scale, table):
    model = make_model(table, "mixed_float16")
    run_custom_loop(
        model,
        scaled(scale),
        in_graph,
        lambda ids, labels: mean_loss(model, ids, labels) + sum(model.losses),
        powers_of_two(),
    )
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


@pytest.mark.parametrize("in_graph", [False, True])
def test_custom_loop_without_a_scaler_needs_no_losses(in_graph, table):
    model = make_model(table, "mixed_float16")
    run_custom_loop(
        model,
        keras.optimizers.SGD(0.0),
        in_graph,
        lambda ids, labels: mean_loss(model, ids, labels),
        powers_of_two(),
    )
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("in_graph", [False, True])
def test_scaled_custom_loop_without_the_losses_says_to_add_them(
    in_graph, scale, table, counters
):
    model = make_model(table, "mixed_float16")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"add.*sum\(model.loss"):
        run_custom_loop(
            model,
            scaled(scale),
            in_graph,
            lambda ids, labels: mean_loss(model, ids, labels),
            powers_of_two(),
        )
    assert counters("committed") == 0


@pytest.mark.parametrize("both", [False, True])
def test_losses_of_each_call_of_a_step_must_be_added(both, table):
    model = make_model(table, "mixed_float16")

    def loss_of(ids, labels):
        loss = mean_loss(model, ids, labels)
        # The next call of the model replaces these losses.
        first = sum(model.losses) if both else 0.0
        return loss + first + mean_loss(model, ids, labels) + sum(model.losses)

    def run():
        run_custom_loop(model, scaled("2^15"), True, loss_of, powers_of_two())

    if both:
        run()
        expected = 2 * trained_by(powers_of_two()) - 0.5
        np.testing.assert_array_equal(rows_of(model), expected)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"sum\(model.losses"):
            run()


def test_gradients_that_are_not_applied_need_no_losses(table):
    model = make_model(table, "mixed_float16")

    def loss_of(ids, labels):
        with tf.GradientTape() as tape:
            penalty = mean_loss(model, ids, labels)
        tape.gradient(penalty, model.trainable_variables)
        return mean_loss(model, ids, labels) + sum(model.losses)

    run_custom_loop(model, scaled("2^15"), True, loss_of, powers_of_two())
    np.testing.assert_array_equal(rows_of(model), trained_by(powers_of_two()))


def test_scaled_custom_loop_with_a_float32_layer_says_what_to_do(table):
    model = make_model(table, "float32")
    with pytest.raises(NotImplementedError, match="dtype='mixed_float16'"):
        run_custom_loop(
            model,
            scaled("dynamic"),
            True,
            lambda ids, labels: mean_loss(model, ids, labels) + sum(model.losses),
            powers_of_two(),
        )


def test_float32_models_have_no_extra_loss_and_no_extra_weight(table):
    model = make_model(table, "float32")
    model(IDS, training=True)
    assert model.losses == []
    assert embedding_of(model).count_params() == 0


@pytest.mark.parametrize("training", [False, True])
def test_only_training_calls_have_the_extra_loss(training, table):
    model = make_model(table, "mixed_float16")
    model(IDS, training=training)
    assert len(model.losses) == training
    embedding_of(model).trainable = False
    model(IDS, training=training)
    assert model.losses == []


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_output_is_of_the_compute_dtype(dtype, table):
    layer = make_layer(table, f"mixed_{dtype}")
    assert layer(IDS, training=True).dtype == tf.as_dtype(dtype)
    inputs = keras.Input(shape=(3,), dtype="int64")
    pooled = make_layer(table, f"mixed_{dtype}", combiner="mean")(inputs)
    assert tf.as_dtype(pooled.dtype) == tf.as_dtype(dtype)


@pytest.mark.parametrize("saved", ["float32", "mixed_float16"])
@pytest.mark.parametrize("loaded", ["float32", "mixed_float16"])
def test_weights_pass_between_policies(loaded, saved, table, tmp_path):
    path = str(tmp_path / "x.weights.h5")
    make_model(table, saved, kernel=4.0).save_weights(path)
    model = make_model(table, loaded, kernel=1.0)
    model.load_weights(path)
    np.testing.assert_array_equal(model.layers[-1].get_weights()[0], 4.0)


def test_a_model_saves_and_loads_after_float16_training(table, tmp_path):
    model = make_model(table, "mixed_float16")
    model.compile(scaled("dynamic"), "mse")
    model.fit(dataset_of(powers_of_two()), verbose=0)
    path = str(tmp_path / "model.keras")
    model.save(path)
    again = keras.models.load_model(path)
    again.fit(dataset_of(powers_of_two()), verbose=0)
    assert again.predict(IDS, verbose=0).dtype == np.float16
