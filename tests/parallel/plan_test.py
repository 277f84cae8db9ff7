"""Plans for several workers, made by one."""

import re

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

SLOW, FAST = 1e5, 1e12


def placements(plan):
    return {layer.name: layer.placement for layer in plan.layers}


def make_plan(model, bandwidth=SLOW, batch_size=8, **options):
    options = {"workers": 4, "group_size": 2, **options}
    return ptf.parallel.plan(model, batch_size, bandwidth=bandwidth, **options)


def test_a_slow_network_divides_layers_with_more_weights_than_activations(make_model):
    plan = make_plan(make_model())
    assert placements(plan) == {"wide_0": "model", "wide_1": "model", "head": "data"}
    assert plan.step_seconds < plan.data_step_seconds


def test_no_layer_is_divided_if_its_activations_are_larger(make_model):
    plan = make_plan(make_model(), batch_size=8192)
    assert set(placements(plan).values()) == {"data"}
    assert plan.step_seconds == plan.data_step_seconds


def test_the_bytes_are_those_of_the_arithmetic(make_model):
    # 4 workers sum gradients in a ring; 2 members gather 2 examples of 256 numbers
    # each, exchange half of the outputs, and the same backward. No gradients of the
    # model's inputs are needed.
    [first, wide, *_] = make_plan(make_model()).layers
    weights = 4 * (256 * 256 + 256)
    assert wide.data_bytes == 2 * 3 / 4 * weights
    inputs, outputs = 4 * 2 * 256, 4 * 2 * 256 // 2
    groups = weights / 2 * 2 * 1 / 2
    assert wide.divisions["columns"] == 2 * (inputs + outputs) + groups
    assert first.divisions["columns"] == inputs + 2 * outputs + groups


def test_a_tag_is_followed_whatever_it_costs(make_model):
    model = make_model()
    ptf.parallel.tag(model.get_layer("wide_0"), "data")
    ptf.parallel.tag(model, "model", axis="rows", pattern="*_1")
    for bandwidth in (SLOW, FAST):
        layers = make_plan(model, bandwidth).layers
        chosen = [(each.placement, each.axis) for each in layers]
        assert chosen[:2] == [("data", None), ("model", "rows")]


@pytest.mark.parametrize("verbose", [0, 1])
def test_progress_is_shown_unless_it_is_unwanted(verbose, make_model, capsys):
    make_plan(make_model(), verbose=verbose)
    # A measurement for each of three layers, and one for all else.
    assert ("4/4" in capsys.readouterr().out) == bool(verbose)


def test_the_table_shows_each_layer(make_model):
    text = str(make_plan(make_model()))
    assert "4 workers in groups of 2" in text
    assert re.search(r"wide_0 +Dense +model, \w+ +65,792 +\d+\.\d\d +\d+\.\d\d", text)
    assert re.search(r"Predicted step: [\d.e+]+ ms, and [\d.e+]+ ms if no layer", text)


def test_a_plan_is_edited(make_model):
    plan = make_plan(make_model())
    edited = plan.place("wide_0", "data").place("wide_1", "model", "rows")
    assert placements(edited)["wide_0"] == "data"
    assert edited.layers[1].axis == "rows"
    assert edited.layers[0].bytes == plan.layers[0].data_bytes
    assert plan.step_seconds < edited.step_seconds < plan.data_step_seconds
    assert placements(plan)["wide_0"] == "model"


def test_a_plan_is_saved_and_loaded(make_model, tmp_path):
    plan = make_plan(make_model())
    plan.save(tmp_path / "plan.json")
    assert ptf.parallel.Plan.load(tmp_path / "plan.json") == plan


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 0}', '{"format": 1}'])
def test_a_file_without_a_plan_is_refused(content, tmp_path):
    (tmp_path / "plan.json").write_text(content)
    with pytest.raises(ValueError, match=r"`path` must be a file .*plan\.json"):
        ptf.parallel.Plan.load(tmp_path / "plan.json")


def test_measuring_changes_no_weight(make_model):
    model = make_model(optimizer="adam")
    before = model.get_weights()
    make_plan(model)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_subclassed_model_needs_inputs(strategy):
    class Scorer(keras.Model):
        def __init__(self):
            super().__init__()
            self.wide = keras.layers.Dense(256, name="wide")
            self.head = keras.layers.Dense(1, name="head")

        def call(self, inputs):
            return self.head(self.wide(inputs["x"]) + inputs["y"])

    inputs = {"x": np.ones((3, 256), "float32"), "y": np.ones((3, 1), "float32")}
    with strategy.scope():
        model = Scorer()
        model.compile("sgd", "mse")
        model(inputs)
    with pytest.raises(ValueError, match="`inputs` must be given"):
        make_plan(model)
    plan = make_plan(model, inputs=inputs)
    assert placements(plan) == {"wide": "model", "head": "data"}


def test_an_axis_of_unknown_size_needs_inputs_and_has_their_size(strategy):
    with strategy.scope():
        inputs = x = keras.Input((None, 8), name="steps")
        x = keras.layers.Dense(8, name="it")(x)
        x = keras.layers.GlobalAveragePooling1D()(x)
        model = keras.Model(inputs, x)
        model.compile("sgd", "mse")
    received = r"Received: the input steps of the shape \(None, None, 8\), inputs=None"
    with pytest.raises(ValueError, match=f"`inputs` must be given .* {received}"):
        make_plan(model)
    sums = 4 * (8 * 8 + 8) / 2 * 2 * 1 / 2
    for length in (5, 50):
        batch = np.zeros((3, length, 8), "float32")
        [layer] = make_plan(model, inputs=batch).layers
        assert layer.examples == 2
        numbers = 2 * length * 8
        assert layer.divisions["columns"] == 4 * 2 * numbers + sums


def test_a_layer_stays_whole_if_its_sizes_depend_on_the_data(strategy):
    class OfSome(keras.Model):
        def __init__(self):
            super().__init__()
            self.wide = keras.layers.Dense(256, name="wide")
            self.some = keras.layers.Dense(256, name="some")

        def call(self, x):
            x = self.wide(x)
            return self.some(tf.boolean_mask(x, x[:, 0] > 0))

    with strategy.scope():
        model = OfSome()
        model.compile("sgd", "mse")
        inputs = np.ones((4, 256), "float32")
        model.wide.build((None, 256))
        model.some.build((None, 256))
        model.built = True
    plan = make_plan(model, inputs=inputs)
    assert placements(plan) == {"wide": "model", "some": "data"}
    ptf.parallel.tag(model.some, "model")
    with pytest.raises(ValueError, match="some is tagged .* not depend on the data"):
        make_plan(model, inputs=inputs)


def test_layers_within_layers_are_named_by_both(strategy):
    with strategy.scope():
        tower = keras.Sequential(
            [keras.Input((256,)), keras.layers.Dense(256, name="inner")], name="tower"
        )
        inputs = keras.Input((256,))
        model = keras.Model(inputs, tower(inputs))
        model.compile("sgd", "mse")
    assert placements(make_plan(model)) == {"tower/inner": "model"}
    ptf.parallel.tag(model, "data", pattern="tower/*")
    assert placements(make_plan(model)) == {"tower/inner": "data"}


def test_a_layer_whose_sizes_cannot_be_divided_stays_whole(make_model):
    plan = make_plan(make_model(units=255))
    assert set(placements(plan).values()) == {"data"}
    assert plan.layers[0].divisions == {}
    with pytest.raises(ValueError, match=r"the layer wide_0 can be divided: there is"):
        plan.place("wide_0", "model")


def test_layers_within_one_that_cannot_be_divided_are_found(strategy):
    with strategy.scope():
        inputs = keras.Input((256,))
        towers = ptf.parallel.Towers(
            [
                keras.Sequential(
                    [keras.layers.Dense(256, name=f"dense_{i}"), normalization],
                    name=f"tower_{i}",
                )
                for i, normalization in enumerate(
                    [keras.layers.BatchNormalization(), keras.layers.ReLU()]
                )
            ],
            name="towers",
        )
        model = keras.Model(inputs, towers(inputs))
        model.compile("sgd", "mse")
    names = [layer.name for layer in make_plan(model).layers]
    assert names == ["towers/tower_0/dense_0", "towers/tower_1/dense_1"]


def test_the_table_shows_encodings(make_model):
    plan = make_plan(make_model())
    text = str(plan.encode(activations=ptf.parallel.Int8()))
    assert "Encoded activations: Int8()\n" in text
    assert "Encoded gradients" not in text
    assert "Predicted step" not in text


def test_it_is_said_if_encodings_change_nothing(make_model, caplog):
    model = make_model(8)
    plan = ptf.parallel.plan(model, 8).encode(gradients=ptf.parallel.Int8())
    applied = plan.apply(model)
    model.train_on_batch(np.zeros((8, 8)), np.zeros((8, 1)))
    applied.remove()
    assert "No gradients are encoded, though the plan says Int8()" in caplog.text
