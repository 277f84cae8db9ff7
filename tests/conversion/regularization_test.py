"""Regularizers of converted models: kept, dropped, or turned into weight decay."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import keras

layers = keras.layers
L1L2 = keras.regularizers.L1L2
L2 = keras.regularizers.L2


def model_of(regularizer, optimizer=None, **options):
    ids = keras.Input((2,), dtype="int64")
    rows = layers.Embedding(
        *(10, 3), name="rows", embeddings_regularizer=regularizer, **options
    )
    model = keras.Model(ids, rows(ids))
    if optimizer is not None:
        model.compile(optimizer, "mse")
    return model


@pytest.fixture
def convert(table):
    def run(model, **options):
        return ptf.convert(model, 10, table_prefix=f"{table}/", **options)

    return run


@pytest.mark.parametrize("choice", ["leave", "drop", "weight_decay"])
@pytest.mark.parametrize("nothing", [L2(0.0), L1L2(0.0, 0.0), keras.regularizers.L1(0)])
def test_a_regularizer_of_zero_counts_as_none(nothing, choice, convert):
    _, report = convert(model_of(nothing), optimizer="sgd", regularizers=choice)
    [converted] = report.converted
    assert converted.notes == ()


def test_a_weight_decay_asks_for_the_optimizer_that_has_it(convert):
    with pytest.raises(ValueError, match="needs an `optimizer`"):
        convert(model_of(L2(0.25)), regularizers="weight_decay")


def test_others_are_left_unless_one_says_what_becomes_of_them(convert):
    _, report = convert(model_of(L2(1e-5)))
    [left] = report.left
    assert "l2=1e-05" in left.reason
    assert 'regularizers="weight_decay" or "drop"' in left.reason


@pytest.mark.parametrize(
    ("regularizer", "shown"),
    [(L2(1e-5), "l2=1e-05"), (L1L2(0.5, 0.25), "l1=0.5, l2=0.25")],
)
def test_they_are_dropped(regularizer, shown, convert):
    clone, report = convert(model_of(regularizer), regularizers="drop")
    assert report.converted[0].notes == (f"without its regularizer, {shown}",)
    assert clone.get_layer("rows").optimizer is report.optimizer


def test_l2_becomes_a_weight_decay_of_those_rows_alone(convert):
    ids = keras.Input((2,), dtype="int64")
    rows = [
        layers.Embedding(10, 3, name=name, embeddings_regularizer=regularizer)(ids)
        for name, regularizer in [("a", L2(0.25)), ("b", L2(0.25)), ("c", None)]
    ]
    model = keras.Model(ids, layers.Add()(rows))
    clone, report = convert(model, optimizer="sgd", regularizers="weight_decay")
    of_a, of_b, of_c = (clone.get_layer(name).optimizer for name in "abc")
    assert of_a is of_b and of_c is report.optimizer
    assert of_a.get_config() == {**of_c.get_config(), "weight_decay": 0.5}
    assert "weight_decay=0.5 replaces its l2=0.25" in str(report)
    assert "applies only to" in report.converted[0].notes[0]


def test_with_sgd_it_steps_the_rows_of_a_batch_as_keras_does(convert):
    model = model_of(L2(0.25), keras.optimizers.SGD(0.5))
    rows_by = ptf.optimizers.SGD(0.5)
    clone, _ = convert(model, optimizer=rows_by, regularizers="weight_decay")
    clone.compile(keras.optimizers.SGD(0.5), "mse")
    ids = np.arange(10).reshape(5, 2)
    for trained in (model, clone):
        trained.train_on_batch(ids, np.ones((5, 2, 3)))
        ptf.flush()
    rows = model.get_layer("rows").get_weights()[0]
    np.testing.assert_allclose(
        clone.get_layer("rows").rows.lookup(np.arange(10)), rows, atol=1e-6
    )


@pytest.mark.parametrize(
    ("regularizer", "optimizer", "reason"),
    [
        (L1L2(0.5, 0.25), "sgd", "l1=0.5, l2=0.25"),
        (keras.regularizers.OrthogonalRegularizer(0.1), "sgd", "Orthogonal"),
        (L2(0.25), ptf.optimizers.AdamW(0.1), "AdamW"),
        (L2(0.25), "ftrl", "Ftrl"),
    ],
)
def test_what_has_no_weight_decay_is_left(regularizer, optimizer, reason, convert):
    _, report = convert(
        model_of(regularizer), optimizer=optimizer, regularizers="weight_decay"
    )
    [left] = report.left
    assert reason in left.reason


def test_activity_regularizers_come_along(convert):
    model = model_of(None, activity_regularizer=L2(0.5))
    clone, report = convert(model)
    assert len(report.converted) == 1
    for each in (model, clone):
        each.compile("sgd", "mse")
    ids = np.arange(10).reshape(5, 2)
    zeros = np.zeros((5, 2, 3))
    expected = model.evaluate(ids, zeros, verbose=0)
    np.testing.assert_allclose(clone.evaluate(ids, zeros, verbose=0), expected)


def test_another_choice_is_refused(convert):
    with pytest.raises(ValueError, match="`regularizers` must be one of.*='keep'"):
        convert(model_of(None), regularizers="keep")
