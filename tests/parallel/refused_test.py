"""What cannot be divided is refused, with the reason."""

import pytest

import persia_tf as ptf
from persia_tf._keras import keras


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "`?batch_size`? must be .* Received: .*0"),
        ((8, 0), "`?workers`? must be"),
        ((8, 4, -1.0), "`?bandwidth`? must be"),
        ((8, 4), "`bandwidth` must be given for other workers"),
    ],
)
def test_arguments_of_a_plan(arguments, message, make_model):
    with pytest.raises(ValueError, match=message):
        ptf.parallel.plan(make_model(8), *arguments)


def test_a_plan_has_no_other_bars(make_model):
    with pytest.raises(ValueError, match="`verbose` must be an integer from 0 to 1"):
        ptf.parallel.plan(make_model(8), 8, verbose=2)


def test_workers_that_form_no_groups(make_model):
    with pytest.raises(ValueError, match="must be a multiple of `group_size`"):
        ptf.parallel.plan(make_model(8), 8, 4, 1e9, group_size=3)
    with pytest.raises(ValueError, match="group_size=2 with 1 worker"):
        ptf.distribute.HierarchicalStrategy(2)


def test_a_model_of_another_strategy():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="within the scope of a `ptf.distribute.Hier"):
        ptf.parallel.plan(model, 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"placement": "both"}, "`?placement`? must be one of"),
        ({"placement": "data", "axis": "rows"}, "`axis` needs the placement"),
        ({"placement": "model", "axis": "depth"}, r"one of \['columns', 'rows'\]"),
        ({"placement": "model", "pattern": "x*"}, "`pattern` must match the name"),
    ],
)
def test_tags(options, message, make_model):
    model = make_model(8)
    target = model if "pattern" in options else model.get_layer("wide_0")
    with pytest.raises(ValueError, match=message):
        ptf.parallel.tag(target, **options)


def test_a_layer_that_no_plan_divides():
    layer = keras.layers.Dropout(0.5, name="drop")
    with pytest.raises(ValueError, match=r"drop \(Dropout\) must be none"):
        ptf.parallel.tag(layer, "model", axis="columns")
    ptf.parallel.tag(layer, "data")


def test_a_plan_for_other_workers(make_model):
    model = make_model(8)
    plan = ptf.parallel.plan(model, 8, 4, 1e9)
    with pytest.raises(ValueError, match=r"4 workers in groups of 4, on 1 workers"):
        plan.apply(model)


def test_a_plan_for_another_model(make_model):
    plan = ptf.parallel.plan(make_model(8), 8)
    with pytest.raises(ValueError, match=r"wide_0: the plan has Dense .* model has"):
        plan.apply(make_model(16))


REFUSED = """
def refused(make):
    try:
        with strategy.scope():
            model = make()
            ptf.parallel.tag(model.get_layer("wide"), "model", axis="columns")
            ptf.parallel.plan(model, batch_size=24).apply(model)
    except ValueError as error:
        return str(error)




say(
    clipnorm=refused(lambda: make_model(keras.optimizers.Adam(clipnorm=1.0))),
    optimizer=refused(lambda: make_model(keras.optimizers.Adafactor())),
)
"""


@pytest.mark.slow
def test_optimizers_that_need_whole_weights(run_workers):
    from group_programs import preamble

    for ended in run_workers(preamble() + REFUSED):
        result = ended.result()
        assert "`clipnorm` cannot be computed from parts" in result["clipnorm"]
        assert "Received: Adafactor" in result["optimizer"]


def test_tags_that_would_do_nothing(make_model):
    model = make_model(8)
    with pytest.raises(
        ValueError, match=r"cannot be divided.* pass `pattern` .*'wide_0'"
    ):
        ptf.parallel.tag(model, "model")
    with pytest.raises(ValueError, match=r"drop \(Dropout\) cannot be divided"):
        ptf.parallel.tag(keras.layers.Dropout(0.5, name="drop"), "model")
    with pytest.raises(TypeError, match="`layer` must be a Keras layer.*'wide_0'"):
        ptf.parallel.tag("wide_0", "model")


def test_a_model_that_is_not_compiled(strategy, make_model):
    plan = ptf.parallel.plan(make_model(8), 8)
    with strategy.scope():
        model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    for refused in (lambda: ptf.parallel.plan(model, 8), lambda: plan.apply(model)):
        with pytest.raises(ValueError, match="`model` must be compiled"):
            refused()


def test_a_second_plan_for_a_model(make_model):
    model = make_model(8)
    plan = ptf.parallel.plan(model, 8)
    applied = plan.apply(model)
    with pytest.raises(ValueError, match="already applied to this model"):
        plan.apply(model)
    applied.remove()
    applied.remove()
    again = plan.apply(model)
    applied.remove()
    with pytest.raises(ValueError, match="already applied to this model"):
        plan.apply(model)
    again.remove()


def test_a_model_whose_layers_have_other_names(strategy):
    def make():
        with strategy.scope():
            model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
            model.compile("sgd", "mse")
        return model

    plan = ptf.parallel.plan(make(), 8)
    with pytest.raises(ValueError, match="no such layer.*give them names"):
        plan.apply(make())


def test_a_state_before_there_is_one(make_model, tmp_path):
    model = make_model(8)
    plan = ptf.parallel.plan(model, 8).encode(ptf.parallel.Int8())
    applied = plan.apply(model)
    with pytest.raises(ValueError, match="must take a training step before"):
        applied.load_state(tmp_path)
    applied.remove()
