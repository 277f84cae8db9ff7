"""Which optimizer steps converted rows."""

import pytest

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.conversion.row_optimizer import row_optimizer


class Compiled:
    """What has an optimizer, as a model has."""

    def __init__(self, optimizer):
        self.optimizer = optimizer


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("SGD", {"momentum": 0.5, "nesterov": True}),
        ("Adam", {"beta_1": 0.8, "amsgrad": True}),
        ("AdamW", {"weight_decay": 0.25}),
        ("Adagrad", {"initial_accumulator_value": 0.5, "clipvalue": 2.0}),
        ("RMSprop", {"rho": 0.5, "centered": True}),
        ("Ftrl", {"beta": 0.5, "l1_regularization_strength": 0.25}),
    ],
)
def test_it_equals_that_of_compile(name, arguments):
    compiled = getattr(keras.optimizers, name)(0.25, **arguments)
    rows = row_optimizer(None, Compiled(compiled))
    expected = getattr(ptf.optimizers, name)(0.25, **arguments)
    assert type(rows) is type(expected)
    assert rows.get_config() == expected.get_config()


def test_a_schedule_is_followed():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, 10, 0.5)
    rows = row_optimizer(None, Compiled(keras.optimizers.SGD(schedule)))
    assert rows.learning_rate.get_config() == schedule.get_config()


def test_a_loss_scaler_is_looked_through():
    scaled = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.5))
    assert row_optimizer(None, Compiled(scaled)).learning_rate == 0.5


def test_adagrad_steps_rows_of_a_model_that_is_not_compiled():
    assert type(row_optimizer(None, Compiled(None))) is ptf.optimizers.Adagrad


def test_what_is_asked_for_goes_first():
    rows = ptf.optimizers.SGD(0.5)
    assert row_optimizer(rows, Compiled(keras.optimizers.Nadam())) is rows


class _OwnSGD(keras.optimizers.SGD):
    pass


@pytest.mark.parametrize(
    ("compiled", "told"),
    [
        (keras.optimizers.Nadam, "Nadam"),
        (_OwnSGD, "_OwnSGD"),
        (lambda: keras.optimizers.SGD(clipnorm=1.0), "clipnorm=1.0"),
        (lambda: keras.optimizers.SGD(global_clipnorm=1.0), "global_clipnorm=1.0"),
        (lambda: keras.optimizers.SGD(use_ema=True), "use_ema=True"),
    ],
)
def test_one_without_an_equal_is_refused_with_what_to_give(compiled, told):
    with pytest.raises(ValueError, match="optimizer=ptf.optimizers") as refusal:
        row_optimizer(None, Compiled(compiled()))
    assert told in str(refusal.value)
