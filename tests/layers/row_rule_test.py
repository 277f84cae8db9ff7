"""Which row optimizer stands for a Keras optimizer."""

import pytest

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.optimizers.of_keras import row_rule


@pytest.mark.parametrize(
    ("name", "arguments", "lazy"),
    [
        ("SGD", {}, {}),
        ("SGD", {"momentum": 0.5, "nesterov": True}, {"lazy": False}),
        ("Adam", {"beta_1": 0.8, "amsgrad": True}, {"lazy": False}),
        ("AdamW", {"weight_decay": 0.25}, {"lazy": False}),
        ("Adagrad", {"initial_accumulator_value": 0.5, "clipvalue": 2.0}, {}),
        ("RMSprop", {"rho": 0.5, "centered": True}, {"lazy": False}),
        ("Ftrl", {"beta": 0.5, "l1_regularization_strength": 0.25}, {}),
    ],
)
def test_it_has_the_arguments_of_the_keras_optimizer(name, arguments, lazy):
    rule = row_rule(getattr(keras.optimizers, name)(0.25, **arguments))
    expected = getattr(ptf.optimizers, name)(**arguments, **lazy)
    assert type(rule.optimizer) is type(expected)
    assert rule.optimizer.get_config() == expected.get_config()
    assert rule.differences == ()


def test_a_schedule_does_not_matter():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.5)
    rule = row_rule(keras.optimizers.SGD(schedule))
    assert rule.optimizer.spec() == ptf.optimizers.SGD().spec()


def test_a_loss_scaler_is_looked_through():
    scaled = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.5))
    assert type(row_rule(scaled).optimizer) is ptf.optimizers.SGD


class _OwnSGD(keras.optimizers.SGD):
    pass


class SGD(keras.optimizers.Nadam):
    """Has the name of one of Keras's optimizers, and is another."""


@pytest.mark.parametrize(
    ("optimizer", "rule", "told"),
    [
        (keras.optimizers.Nadam, "Adam", "rows do not support Nadam"),
        (SGD, "Adam", "rows do not support SGD"),
        (_OwnSGD, "SGD", "rows use only the rule of SGD"),
        (lambda: keras.optimizers.SGD(clipnorm=1.0), "SGD", "clipnorm bounds"),
        (
            lambda: keras.optimizers.SGD(global_clipnorm=1.0),
            "SGD",
            "global_clipnorm bounds",
        ),
        (lambda: keras.optimizers.SGD(use_ema=True), "SGD", "use_ema"),
    ],
)
def test_what_is_nearest_says_how_it_differs(optimizer, rule, told):
    nearest = row_rule(optimizer())
    assert type(nearest.optimizer).__name__ == rule
    assert told in "; ".join(nearest.differences)


@pytest.mark.parametrize("option", ["clipnorm", "global_clipnorm"])
def test_a_bound_of_norms_is_a_rows_own(option):
    rule = row_rule(keras.optimizers.SGD(**{option: 0.5}))
    assert rule.optimizer.spec() == ptf.optimizers.SGD(clipnorm=0.5).spec()
