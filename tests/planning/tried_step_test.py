"""A model's step is timed with other shards, and the model stays as it is."""

import collections
import types

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import stats
from persia_tf._keras import keras
from persia_tf.ops.stand_in import stood_in_by
from persia_tf.planning import step_clock
from persia_tf.planning import tried_step as tried_step_module
from persia_tf.planning.model_tables import tables_of
from persia_tf.planning.observe import observe
from persia_tf.planning.trial_shards import trial_sessions
from persia_tf.planning.tried_step import (
    KeptBatches,
    check_can_be_timed,
    tried_step,
)
from persia_tf.planning.unchanged import unchanged

EXAMPLES, BATCH = 24, 8


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(step_clock, "_LEAST_STEPS", 2)
    monkeypatch.setattr(step_clock, "_LEAST_SECONDS", 0.0)


@pytest.fixture
def model(table):
    inputs = {
        "one": keras.Input((), dtype="int64", name="one"),
        "bag": keras.Input((3,), dtype="int64", name="bag"),
    }
    one = ptf.layers.PersiaEmbedding(4, table=f"{table}_one")(inputs["one"])
    bag = ptf.layers.PersiaEmbedding(4, table=f"{table}_bag", combiner="mean")
    x = keras.layers.Concatenate()([one, bag(inputs["bag"])])
    x = keras.layers.Dropout(0.5)(keras.layers.BatchNormalization()(x))
    model = keras.Model(inputs, keras.layers.Dense(1)(x))
    model.compile("adam", "mse", metrics=["mae"])
    return model


@pytest.fixture
def dataset():
    ids = {"one": np.arange(EXAMPLES), "bag": np.arange(3 * EXAMPLES).reshape(-1, 3)}
    labels = np.ones((EXAMPLES, 1), np.float32)
    return tf.data.Dataset.from_tensor_slices((ids, labels)).batch(BATCH)


def step_of(model, sample, batches=None):
    tables = tables_of(model, observe(model, batches or sample))
    return tried_step(model, sample, 3, tables, 1)


def values_of(variables):
    return [np.array(variable) for variable in variables]


def state_of(model):
    variables = model.optimizer.variables
    return {
        "weights": values_of(model.variables),
        "optimizer": values_of(variables() if callable(variables) else variables),
        "metrics": [values_of(metric.variables) for metric in model.metrics],
        "stop_training": model.stop_training,
        "history": getattr(model, "history", None),
        "train_function": model.train_function,
        "optimizer itself": model.optimizer,
    }


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, value in before.items():
        if isinstance(value, list):
            flat = tf.nest.flatten(value), tf.nest.flatten(after[name])
            for one, other in zip(*flat, strict=True):
                np.testing.assert_array_equal(one, other)
        else:
            assert after[name] is value


def rows_of(model, table):
    return [len(ptf.Table(f"{table}_{name}")) for name in ("one", "bag")]


def test_a_model_that_was_trained_stays_as_it_is(model, dataset, table):
    model.fit(dataset, verbose=0)
    model.stop_training = True
    rows, before = rows_of(model, table), state_of(model)
    timed = step_of(model, dataset)
    assert timed.seconds > 0
    assert_same(before, state_of(model))
    assert rows_of(model, table) == rows
    # It also trains as before: with rows.
    model.fit(dataset.map(lambda x, y: ({**x, "one": x["one"] + 1_000}, y)), verbose=0)
    assert rows_of(model, table) == [2 * EXAMPLES, 3 * EXAMPLES]


def test_a_model_that_was_never_trained_gets_no_rows(model, dataset, table):
    before = state_of(model)
    step_of(model, dataset)
    after = state_of(model)
    # Its metrics are built, and hold nothing.
    assert all(not np.any(each) for each in tf.nest.flatten(after["metrics"]))
    del before["metrics"], after["metrics"]
    assert_same(before, after)
    assert rows_of(model, table) == [0, 0]
    model.fit(dataset, verbose=0)
    assert rows_of(model, table) == [EXAMPLES, 3 * EXAMPLES]


def test_a_step_trains_rows_with_the_settings_of_the_tables(model, dataset, table):
    tables = tables_of(model, observe(model, dataset))
    rows = collections.Counter()
    with trial_sessions(tables, 2) as sessions, unchanged(model):
        [session] = sessions.values()
        with stood_in_by(sessions):
            model.fit(dataset, verbose=0)
        for store in stats.of_session(session):
            rows.update({each.name: each.rows for each in store.tables})
    assert rows == {f"{table}_one": EXAMPLES, f"{table}_bag": 3 * EXAMPLES}
    assert rows_of(model, table) == [0, 0]


def test_the_tables_follow_no_optimizer_yet(model, dataset, table):
    step_of(model, dataset)
    # So another optimizer may still be chosen.
    model.compile("adagrad", "mse")
    model.fit(dataset, verbose=0)
    assert rows_of(model, table) == [EXAMPLES, 3 * EXAMPLES]


def test_steps_of_a_schedule_do_not_count(table, dataset):
    schedule = keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5)
    ids = keras.Input((), dtype="int64", name="one")
    layer = ptf.layers.PersiaEmbedding(
        1, table=f"{table}_one", optimizer=ptf.optimizers.SGD(schedule)
    )
    model = keras.Model({"one": ids}, layer(ids))
    model.compile("sgd", "mse")
    step_of(model, dataset.map(lambda x, y: ({"one": x["one"]}, y)))
    assert int(layer._stepping._steps.read()) == 0


def test_it_does_not_count_for_the_metrics_of_this_process(model, dataset):
    tables = tables_of(model, observe(model, dataset))
    before = ptf.metrics()
    tried_step(model, dataset, 3, tables, 1)
    assert ptf.metrics()["committed"] == before["committed"]


def test_a_model_without_dense_weights_is_timed(table, dataset):
    ids = keras.Input((), dtype="int64", name="one")
    vectors = ptf.layers.PersiaEmbedding(1, table=f"{table}_one")(ids)
    model = keras.Model({"one": ids}, vectors)
    model.compile("adam", "mse")
    assert step_of(model, dataset.map(lambda x, y: ({"one": x["one"]}, y)))
    assert len(ptf.Table(f"{table}_one")) == 0


def test_batches_of_an_iterator_are_kept(model, dataset):
    kept = KeptBatches(dataset.as_numpy_iterator())
    assert len(list(kept)) == len(kept.kept) == 3
    assert step_of(model, kept, dataset).seconds > 0


def test_labels_that_lack_are_told_of(model, dataset):
    with pytest.raises(ValueError, match="`fit` failed.*labels.*`step_seconds`"):
        step_of(model, dataset.map(lambda x, y: x))


def test_a_model_that_is_not_compiled_is_refused(table):
    model = keras.Sequential([ptf.layers.PersiaEmbedding(4, table=table)])
    with pytest.raises(ValueError, match="`model` must be compiled if `time` is True"):
        check_can_be_timed(model)


def test_a_model_with_several_replicas_is_refused(model, monkeypatch):
    strategy = types.SimpleNamespace(num_replicas_in_sync=2)
    monkeypatch.setattr(tried_step_module, "strategy_of", lambda model: strategy)
    with pytest.raises(ValueError, match="must have one replica.*with 2 replicas"):
        check_can_be_timed(model)


def test_an_optimizer_that_cannot_be_copied_is_told_of(model, dataset):
    class Own(keras.optimizers.SGD):
        def __init__(self, needed):
            super().__init__()

    model.compile(Own(1), "mse")
    with pytest.raises(ValueError, match="copy of its optimizer.*optimizer Own"):
        step_of(model, dataset)
