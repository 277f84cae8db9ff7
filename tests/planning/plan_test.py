"""`ptf.plan`: what it takes, refuses, says and shows."""

import json

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.fixture
def model(make_model):
    return make_model({"output_dim": 4})


def test_a_plan_needs_no_shards_and_makes_no_rows(model, make_dataset, table):
    plan = ptf.plan(model, make_dataset(100), run_steps=60)
    [planned] = plan.tables
    assert planned.name == f"{table}_0"
    assert (planned.dim, planned.row_dtype) == (4, "float32")
    assert planned.optimizer.startswith("sgd")
    assert (plan.sample_steps, plan.run_steps, plan.batch_size) == (6, 60, 40)
    assert planned.rows.value == pytest.approx(100, rel=0.1)
    assert planned.row_bytes == 16
    assert len(ptf.Table(planned.name)) == 0


def test_the_sample_itself_is_planned_exactly(model, make_dataset):
    dataset = make_dataset(1_000)
    ids = np.concatenate([x["in0"] for x, _ in dataset.as_numpy_iterator()])
    [planned] = ptf.plan(model, dataset).tables
    assert planned.rows.value == pytest.approx(len(np.unique(ids)))
    assert planned.law == "none"


@pytest.mark.parametrize("kind", ["x", "x, y", "x, y, weights", "arrays"])
def test_batches_are_what_fit_takes(kind, model, make_dataset):
    dataset = make_dataset(100)
    sample = {
        "x": dataset.map(lambda x, y: x),
        "x, y": dataset,
        "x, y, weights": dataset.map(lambda x, y: (x, y, y)),
        "arrays": list(dataset.as_numpy_iterator()),
    }[kind]
    expected = ptf.plan(model, dataset, run_steps=60)
    assert ptf.plan(model, sample, run_steps=60) == expected


class Unbuilt(keras.Model):
    """A model that is built by its first call."""

    def __init__(self, table):
        super().__init__()
        self.rows = ptf.layers.PersiaEmbedding(4, table=table)
        self.dense = keras.layers.Dense(1)

    def call(self, ids, training=None):
        return self.dense(self.rows(ids, training=training))


def test_an_unbuilt_model_is_built(table):
    model = Unbuilt(table)
    model.compile("adam", "mse")
    ids = np.arange(30).reshape(3, 10)
    [planned] = ptf.plan(model, list(ids)).tables
    assert planned.rows.value == 30
    # Moments, and what Adam notes to catch up on steps without a row.
    assert planned.row_bytes == 4 * (4 + 2 * 4 + 3)


def test_features_of_one_layer_are_tables(table):
    names = [f"{table}_{letter}" for letter in "ab"]
    inputs = {name: keras.Input((), dtype="int64", name=name) for name in names}
    configs = {names[0]: ptf.TableConfig(4), names[1]: ptf.TableConfig(8)}
    vectors = ptf.layers.PersiaEmbeddings(configs, joined=True)(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(vectors))
    model.compile("sgd", "mse")
    batch = {names[0]: np.arange(20), names[1]: np.arange(20) % 5}
    plan = ptf.plan(model, [batch])
    assert [each.rows.value for each in plan.tables] == [20, 5]
    assert [each.dim for each in plan.tables] == [4, 8]


def test_ragged_bags_are_counted(table):
    ids = keras.Input((None,), dtype="int64", ragged=True)
    layer = ptf.layers.PersiaEmbedding(4, table=table, combiner="sum")
    model = keras.Model(ids, keras.layers.Dense(1)(layer(ids)))
    model.compile("sgd", "mse")
    batches = [tf.ragged.constant([[1, 2], [], [3]], dtype=tf.int64)]
    [planned] = ptf.plan(model, batches).tables
    assert planned.rows.value == 3


def test_settings_of_tables_count(make_model, make_dataset):
    model = make_model(
        {"output_dim": 4, "capacity": 50},
        {"output_dim": 4, "admission": ptf.admission.Probability(0.5)},
        {"output_dim": 4, "trainable": False},
    )
    plan = ptf.plan(model, make_dataset(100, 100, 100), run_steps=60)
    capped, halved, frozen = plan.tables
    assert capped.rows.value == 50
    assert halved.rows.value == pytest.approx(50, rel=0.05)
    assert frozen.rows.value == 0
    assert any("frozen" in warning for warning in plan.warnings)


def test_the_optimizer_of_a_layer_counts(make_model, make_dataset):
    model = make_model({"output_dim": 4, "optimizer": ptf.optimizers.Adagrad(0.1)})
    [planned] = ptf.plan(model, make_dataset(100)).tables
    assert planned.row_bytes == 32


def test_an_endless_dataset_needs_a_number_of_steps(model, make_dataset):
    endless = make_dataset(100).repeat()
    with pytest.raises(ValueError, match="`steps` must say how many.*steps=None"):
        ptf.plan(model, endless)
    assert ptf.plan(model, endless, steps=9).sample_steps == 9


@pytest.mark.parametrize(
    "sample",
    [[], iter(()), [np.zeros(0, "int64")]],
    ids=["list", "iterator", "empty batch"],
)
def test_an_empty_sample_is_refused(sample, model):
    with pytest.raises(ValueError, match="`sample` must have at least one example"):
        ptf.plan(model, sample)


@pytest.mark.parametrize(
    "sample",
    [7, "x", {"in0": np.arange(3)}, (np.arange(3), np.ones(3)), np.arange(3)],
    ids=type,
)
def test_what_is_no_sample_is_refused(sample, model):
    with pytest.raises(TypeError, match="`sample` must be.*Received: sample of type"):
        ptf.plan(model, sample)


def test_a_function_that_makes_batches_is_to_be_called(model):
    def batches():
        yield {"in0": np.arange(3)}

    with pytest.raises(TypeError, match="type function: call it, and give what it"):
        ptf.plan(model, batches)
    assert ptf.plan(model, batches()).sample_steps == 1


def test_a_batch_of_more_than_inputs_labels_and_weights_is_refused(model):
    batch = tuple(np.arange(3) for _ in range(4))
    with pytest.raises(ValueError, match="must be x, .*tuple with 4 elements"):
        ptf.plan(model, [batch])


def test_features_that_the_model_does_not_take_are_told_of(model, make_dataset):
    dataset = make_dataset(100, 7, 7)
    plan = ptf.plan(model, dataset, run_steps=60)
    [warning] = [each for each in plan.warnings if "no inputs for" in each]
    assert "in1, in2" in warning
    assert plan.tables == ptf.plan(model, make_dataset(100), run_steps=60).tables


def test_examples_that_are_not_batched_are_refused(model, make_dataset):
    with pytest.raises(ValueError, match=r"a first axis.*call `sample.batch\(n\)`"):
        ptf.plan(model, make_dataset(100).unbatch())


def test_ids_of_another_dtype_are_refused(model):
    batch = {"in0": np.array(["a", "b"])}
    with pytest.raises(ValueError, match="dtypes and values.*'in0': 'string'.*Cast"):
        ptf.plan(model, [batch])


def test_a_model_without_our_layers_is_refused():
    model = keras.Sequential([keras.layers.Dense(1)])
    batches = [np.zeros((2, 3), np.float32)]
    with pytest.raises(ValueError, match="at least one PersiaEmbedding layer"):
        ptf.plan(model, batches)


def test_what_is_no_model_is_refused(make_dataset):
    with pytest.raises(TypeError, match="`model` must be a Keras model. Received"):
        ptf.plan("model", make_dataset(100))


def test_features_that_the_model_lacks_are_named(make_model, make_dataset):
    model = make_model({"output_dim": 4}, {"output_dim": 4})
    with pytest.raises(ValueError, match=r"Absent: \['in1'\]. Received.*\['in0'\]"):
        ptf.plan(model, make_dataset(100))


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"steps": 0}, ValueError, "`steps` must be.*Received: steps=0"),
        ({"run_steps": 2.5}, TypeError, "`run_steps` must be an integer"),
        ({"run_steps": 3}, ValueError, "`run_steps` must be at least.*6.*run_steps=3"),
        ({"epochs": 0}, ValueError, "`epochs` must be"),
        ({"shards": 0}, ValueError, "`shards` must be"),
        ({"shards": []}, ValueError, "at least one number of shards"),
        ({"shards": "two"}, TypeError, "`shards` must be an int or a list"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments, error, match, model, make_dataset):
    with pytest.raises(error, match=match):
        ptf.plan(model, make_dataset(100), **arguments)


def test_a_small_sample_is_told_of(model, make_dataset):
    plan = ptf.plan(model, make_dataset(5_000, steps=3), run_steps=1_000)
    text = str(plan)
    assert "the sample has 0.3% of the run's steps" in text
    assert "the sample has 3 batches" in text


def test_a_model_that_is_not_compiled_is_told_of(table):
    plan = ptf.plan(Unbuilt(table), [np.arange(10)])
    assert any("not compiled" in warning for warning in plan.warnings)
    assert plan.tables[0].optimizer.startswith("adam")


def test_a_plan_is_shown_and_written(make_model, make_dataset):
    model = make_model({"output_dim": 4}, {"output_dim": 16, "row_dtype": "int8"})
    plan = ptf.plan(model, make_dataset(100, 2_000), run_steps=60, shards=[1, 4])
    text = str(plan)
    for table in plan.tables:
        assert table.name in text
    assert "16 int8" in text
    assert all(len(line) <= 140 for line in text.splitlines())
    written = json.loads(plan.to_json())
    assert written == plan.to_dict()
    assert [each["shards"] for each in written["shards"]] == [1, 4]
    assert written["tables"][0]["rows"]["value"] == plan.tables[0].rows.value


def test_ids_are_counted_with_and_without_repeats(model):
    [planned] = ptf.plan(model, [np.array([7, 7, 8]), np.array([7])]).tables
    assert planned.repeated_ids_per_step == 2
    assert planned.ids_per_step == 1.5


@pytest.mark.parametrize("name", ["", "absent/plan.html"])
def test_a_page_needs_the_name_of_a_file_in_a_folder(
    name, model, make_dataset, tmp_path
):
    plan = ptf.plan(model, make_dataset(100))
    with pytest.raises(ValueError, match="`path` must.*Received: path="):
        plan.to_html(tmp_path / name)


def test_a_sample_in_the_place_of_the_model_is_not_shown_whole(model):
    batches = [np.arange(1_000)] * 100
    with pytest.raises(TypeError, match="`model` must be a Keras model") as refused:
        ptf.plan(batches, model)
    assert len(str(refused.value)) < 400
    assert "of type list" in str(refused.value)


def test_json_is_returned_and_not_written(model, make_dataset, tmp_path):
    with pytest.raises(TypeError, match="write the JSON.*Received: indent='plan.json'"):
        ptf.plan(model, make_dataset(100)).to_json("plan.json")


def test_plan_and_its_result_are_names_of_the_package():
    assert ptf.plan.__module__ == "persia_tf.planning.planner"
    assert ptf.Plan.__name__ == "Plan"
