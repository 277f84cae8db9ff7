"""Rows without an optimizer of their own follow the one that steps the model."""

import numpy as np
import pytest
import tensorflow as tf
from absl import logging

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

IDS = 1000
DIM = 8
BATCH = 16
EPOCHS = 3
RULES = {
    "sgd": lambda: keras.optimizers.SGD(0.5),
    "momentum": lambda: keras.optimizers.SGD(0.1, momentum=0.9),
    "nesterov": lambda: keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: keras.optimizers.Adam(0.002),
    "amsgrad": lambda: keras.optimizers.Adam(0.002, amsgrad=True),
    "adamw": lambda: keras.optimizers.AdamW(0.002),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.002),
    "centered": lambda: keras.optimizers.RMSprop(0.002, momentum=0.5, centered=True),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
}


class DenseEmbedding(keras.layers.Layer):
    """Keras's embedding, with gradients that are summed by id.

    In the layer of Keras 3, the gradient of each occurrence is squared by itself.
    """

    def build(self, input_shape=None):
        self.table = self.add_weight(
            name="table", shape=(IDS, DIM), initializer="zeros"
        )
        self.built = True

    def call(self, ids):
        return tf.one_hot(ids, IDS) @ tf.convert_to_tensor(self.table)

    def compute_output_shape(self, input_shape):
        return (*input_shape, DIM)


def random_ids(skewed):
    """Ids that come several times each; if skewed, few come often, others rarely."""
    random = np.random.default_rng(0)
    if skewed:
        return np.minimum(random.zipf(1.3, IDS * EPOCHS), IDS - 1)
    return np.concatenate([random.permutation(IDS) for _ in range(EPOCHS)])


def losses(embedding, optimizer, ids):
    """The mean losses of each quarter of a training, which begins equally."""
    inputs = keras.Input((), dtype="int64")
    outputs = keras.layers.Dense(
        1, kernel_initializer=keras.initializers.GlorotUniform(3)
    )(embedding(inputs))
    model = keras.Model(inputs, outputs)
    model.compile(optimizer, keras.losses.BinaryCrossentropy(from_logits=True))
    labels = (ids % 2 == 0).astype("float32")[:, None]
    told = []
    note = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs=None: model.reset_metrics(),
        on_train_batch_end=lambda batch, logs: told.append(float(logs["loss"])),
    )
    model.fit(ids, labels, BATCH, shuffle=False, verbose=0, callbacks=[note])
    return [np.mean(quarter) for quarter in np.array_split(told, 4)]


@pytest.mark.parametrize(
    "skewed",
    [
        pytest.param(False, id="epochs", marks=pytest.mark.slow),
        pytest.param(True, id="zipf"),
    ],
)
@pytest.mark.parametrize("name", RULES)
def test_a_model_learns_as_with_the_layer_of_keras(name, skewed, shards, table):
    ids = random_ids(skewed)
    rows = ptf.layers.PersiaEmbedding(
        DIM, table=table, embeddings_initializer="zeros", cluster=shards
    )
    expected = losses(DenseEmbedding(), RULES[name](), ids)
    np.testing.assert_allclose(losses(rows, RULES[name](), ids), expected, rtol=0.02)


def make_model(table, optimizer, **options):
    layer = ptf.layers.PersiaEmbedding(
        1, table=table, embeddings_initializer="ones", **options
    )
    inputs = keras.Input((), dtype="int64")
    model = keras.Model(inputs, layer(inputs))
    if optimizer is not None:
        model.compile(optimizer, total)
    return model


def total(_, outputs):
    return tf.reduce_sum(outputs)


def fit(model, ids, **options):
    ids = np.asarray(ids, np.int64)
    targets = np.zeros((len(ids), 1), np.float32)
    model.fit(ids, targets, batch_size=len(ids), verbose=0, **options)
    ptf.flush()


def weights(table, ids, cluster=None):
    return ptf.Table(table, cluster=cluster).lookup(ids)[:, 0]


def test_the_learning_rate_is_the_models_at_each_step(table):
    model = make_model(table, keras.optimizers.SGD(0.5))
    fit(model, [7])
    assert weights(table, [7]) == 0.5
    model.optimizer.learning_rate = 0.25
    fit(model, [7])
    assert weights(table, [7]) == 0.25


def test_callbacks_that_set_the_learning_rate_are_followed(table):
    model = make_model(table, keras.optimizers.SGD(1.0))
    rates = keras.callbacks.LearningRateScheduler(lambda epoch: 0.5**epoch)
    fit(model, [7], epochs=3, callbacks=[rates])
    assert weights(table, [7]) == 1 - (1 + 0.5 + 0.25)


def test_a_schedule_is_followed(table):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0], [0.5, 0.25])
    model = make_model(table, keras.optimizers.SGD(schedule))
    fit(model, [7], epochs=3)
    assert weights(table, [7]) == 1 - (0.5 + 0.25 + 0.25)


@pytest.mark.parametrize("in_graph", [False, True])
def test_the_optimizer_of_a_custom_loop_is_followed(in_graph, table):
    model = make_model(table, None)
    optimizer = keras.optimizers.SGD(0.25)

    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model(ids, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    step = tf.function(step) if in_graph else step
    for _ in range(2):
        step(tf.constant([7], tf.int64))
    ptf.flush()
    assert weights(table, [7]) == 0.5


def test_an_optimizer_that_rows_lack_is_told_and_adam_steps_them(table, caplog):
    model = make_model(table, keras.optimizers.Nadam(0.5))
    with caplog.at_level(logging.WARNING, "absl"):
        fit(model, [7])
        fit(model, [7])
    told = [
        r.getMessage()
        for r in caplog.records
        if "rows do not support Nadam" in r.msg % r.args
    ]
    assert len(told) == 1
    assert "optimizer=" in told[0]
    assert weights(table, [7]) < 1


def test_a_table_that_another_layer_gave_an_optimizer_keeps_it(table):
    inputs = keras.Input((), dtype="int64")
    given = ptf.layers.PersiaEmbedding(
        1, table=table, embeddings_initializer="ones", optimizer=ptf.optimizers.SGD(0.5)
    )
    follows = ptf.layers.PersiaEmbedding(1, table=table, embeddings_initializer="ones")
    model = keras.Model(inputs, given(inputs) + follows(inputs))
    model.compile("adam", total)
    fit(model, [7])
    assert weights(table, [7]) == 1 - 2 * 0.5


def test_another_compile_begins_the_state_anew_and_keeps_weights(shards, table, caplog):
    model = make_model(table, keras.optimizers.Adam(0.5), cluster=shards)
    fit(model, [7, 8])
    trained = weights(table, [7, 8], shards)
    model.compile(keras.optimizers.SGD(0.25), total)
    with caplog.at_level(logging.WARNING, "absl"):
        fit(model, [7])
    assert "their optimizer state starts over" in caplog.text
    assert weights(table, [7], shards) == trained[0] - 0.25
    assert weights(table, [8], shards) == trained[1]


def other_program(cluster):
    """The same cluster, with a session of its own, as another program has one."""
    return ptf.Cluster(cluster.shards, timeout=cluster.timeout + 1, staleness=0)


def test_another_program_goes_on_with_the_same_state(shards, table, rows_of):
    fit(make_model(table, "adam", cluster=shards), [7])
    before = rows_of(table, shards)[7]
    fit(make_model(table, "adam", cluster=other_program(shards)), [8])
    np.testing.assert_array_equal(rows_of(table, shards)[7], before)


def test_rows_of_another_program_keep_their_optimizer(shards, table):
    fit(make_model(table, "adam", cluster=shards), [7])
    model = make_model(table, "sgd", cluster=other_program(shards))
    # tf_keras raises an error of its own with this message.
    with pytest.raises(Exception, match="FailedPreconditionError|the state of another"):
        fit(model, [7])


@pytest.mark.parametrize("compiled", [True, False])
def test_a_saved_model_goes_on_as_if_it_had_never_been_saved(
    compiled, shards, other_shards, table, tmp_path, rows_of
):
    model = make_model(table, keras.optimizers.Adam(0.5), cluster=shards)
    fit(model, [7, 8])
    model.save(tmp_path / "m.keras")
    with ptf.use_cluster(other_shards):
        loaded = keras.models.load_model(
            tmp_path / "m.keras", {"total": total}, compile=compiled
        )
    if not compiled:
        loaded.compile(keras.optimizers.Adam(0.5), total)
        loaded.optimizer.build(loaded.trainable_variables)
        loaded.optimizer.iterations.assign(model.optimizer.iterations)
    for trained in (model, loaded):
        fit(trained, [7])
    mine, others = rows_of(table, shards), rows_of(table, other_shards)
    for row_id in (7, 8):
        np.testing.assert_array_equal(mine[row_id], others[row_id])


def test_a_layer_that_follows_says_so_in_its_config(table):
    layer = ptf.layers.PersiaEmbedding(1, table=table)
    assert layer.optimizer is None
    assert ptf.layers.PersiaEmbedding.from_config(layer.get_config()).optimizer is None


def test_pretrained_rows_may_be_assigned_before_anything_is_compiled(table):
    model = make_model(table, None)
    ptf.Table(table).assign([7], [[3.0]])
    model.compile(keras.optimizers.SGD(1.0), total)
    fit(model, [7])
    assert weights(table, [7]) == 2.0


@pytest.mark.skipif(IS_KERAS_3, reason="tf_keras alone has these")
def test_legacy_optimizers_are_followed_with_their_decay(table):
    model = make_model(table, keras.optimizers.legacy.SGD(0.5, decay=1.0))
    fit(model, [7], epochs=2)
    assert weights(table, [7]) == 1 - (0.5 + 0.25)
