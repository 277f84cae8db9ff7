"""Which arguments row optimizers take or refuse, and what their configs have."""

import copy
import inspect
import pickle

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import keras

CLASSES = [
    ptf.optimizers.Adagrad,
    ptf.optimizers.Adam,
    ptf.optimizers.AdamW,
    ptf.optimizers.Ftrl,
    ptf.optimizers.Lamb,
    ptf.optimizers.RMSprop,
    ptf.optimizers.RowWiseAdagrad,
    ptf.optimizers.SGD,
]
WITH_EVERYTHING = [
    ptf.optimizers.SGD(0.5, momentum=0.9, nesterov=True, weight_decay=0.1),
    ptf.optimizers.Adagrad(0.5, 0.2, 1e-3, clipnorm=2.0),
    ptf.optimizers.RowWiseAdagrad(0.5, 0.2, 1e-3, weight_bound=3.0),
    ptf.optimizers.Adam(0.5, 0.8, 0.9, 1e-3, amsgrad=True, clipvalue=0.5),
    ptf.optimizers.AdamW(0.5, 0.2, 0.8, 0.9, 1e-3, amsgrad=True, clipnorm=1),
    ptf.optimizers.RMSprop(0.5, 0.8, 0.7, 1e-3, centered=True, weight_decay=0),
    ptf.optimizers.Ftrl(0.5, -0.4, 0.2, 0.1, 0.2, 0.3, 0.4, weight_bound=1),
    ptf.optimizers.Lamb(0.5, 0.8, 0.9, 1e-3, weight_decay=0.1, clipvalue=1),
]


@pytest.mark.parametrize("cls", CLASSES)
def test_name_gives_the_class_with_its_defaults(cls):
    for name in (cls.rule, cls.rule.upper(), cls.__name__, cls.__name__.lower()):
        made = ptf.optimizers.get(name)
        assert type(made) is cls
        assert made.get_config() == cls().get_config()


@pytest.mark.parametrize("cls", CLASSES)
def test_arguments_that_keras_has_have_its_defaults(cls):
    theirs = getattr(keras.optimizers, cls.__name__, None)
    if theirs is None:
        pytest.skip("Keras has no such optimizer")
    expected = inspect.signature(theirs).parameters
    for name, parameter in inspect.signature(cls).parameters.items():
        if name != "options":
            assert parameter.default == expected[name].default, name


@pytest.mark.parametrize("cls", CLASSES)
def test_the_core_takes_the_defaults(cls, table):
    ptf.layers.PersiaEmbedding(4, table=table, optimizer=cls()).build((None,))


@pytest.mark.parametrize("optimizer", WITH_EVERYTHING, ids=lambda o: o.rule)
def test_the_core_takes_every_argument(optimizer, table):
    ptf.layers.PersiaEmbedding(4, table=table, optimizer=optimizer).build((None,))


@pytest.mark.parametrize("optimizer", WITH_EVERYTHING, ids=lambda o: o.rule)
@pytest.mark.parametrize(
    "copied",
    [
        lambda optimizer: type(optimizer).from_config(optimizer.get_config()),
        lambda optimizer: keras.saving.deserialize_keras_object(
            keras.saving.serialize_keras_object(optimizer)
        ),
        copy.deepcopy,
        lambda optimizer: pickle.loads(pickle.dumps(optimizer)),
    ],
    ids=["config", "keras", "deepcopy", "pickle"],
)
def test_copy_is_the_same_optimizer(optimizer, copied):
    made = copied(optimizer)
    assert type(made) is type(optimizer)
    assert made.get_config() == optimizer.get_config()
    assert made.spec() == optimizer.spec()


def test_spec_holds_only_the_options_that_are_given():
    assert ptf.optimizers.SGD().spec() == "sgd(momentum=0.0,nesterov=0.0)"
    assert ptf.optimizers.SGD(clipnorm=2).spec() == (
        "sgd(momentum=0.0,nesterov=0.0,clipnorm=2.0)"
    )


@pytest.mark.parametrize("cls", CLASSES)
def test_an_empty_config_gives_the_defaults(cls):
    assert cls.from_config({}).get_config() == cls().get_config()


def test_a_weight_decay_of_zero_is_none():
    for cls in set(CLASSES) - {ptf.optimizers.AdamW}:
        assert cls(weight_decay=0).spec() == cls().spec()
    assert "weight_decay=0.0" in ptf.optimizers.AdamW(weight_decay=0).spec()


def test_layers_whose_weight_decay_is_zero_or_none_share_a_table(table):
    for weight_decay in (None, 0, 0.0):
        optimizer = ptf.optimizers.SGD(weight_decay=weight_decay)
        ptf.layers.PersiaEmbedding(4, table=table, optimizer=optimizer).build((None,))


def test_adamw_decays_by_default():
    assert "weight_decay=0.004" in ptf.optimizers.AdamW().spec()
    assert "weight_decay" not in ptf.optimizers.Adam().spec()


def test_numbers_of_numpy_are_taken():
    optimizer = ptf.optimizers.Adam(
        np.float32(0.5),
        beta_1=np.float64(0.8),
        amsgrad=np.bool_(True),
        clipnorm=np.int64(2),
    )
    assert optimizer.learning_rate == 0.5
    assert optimizer.get_config()["amsgrad"] is True
    assert "clipnorm=2.0" in optimizer.spec()


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        ("SGD", {"momentum": 1.5}),
        ("SGD", {"momentum": 10**400}),
        ("SGD", {"momentum": float("nan")}),
        ("SGD", {"nesterov": 0.5}),
        ("Adagrad", {"initial_accumulator_value": -1}),
        ("Adagrad", {"epsilon": 1e300}),
        ("RowWiseAdagrad", {"epsilon": -1e-7}),
        ("Adam", {"beta_1": 1.0}),
        ("Adam", {"beta_2": 0.999999999999}),
        ("Adam", {"epsilon": 0}),
        ("AdamW", {"weight_decay": -0.1}),
        ("RMSprop", {"rho": -0.1}),
        ("RMSprop", {"epsilon": 1e-60}),
        ("Ftrl", {"learning_rate_power": 0.5}),
        ("Ftrl", {"l1_regularization_strength": -1}),
        ("Ftrl", {"beta": float("inf")}),
        ("Lamb", {"beta_2": 2}),
        ("SGD", {"clipnorm": 0}),
        ("SGD", {"clipvalue": -1.0}),
        ("SGD", {"weight_bound": 0.0}),
        ("SGD", {"weight_decay": float("nan")}),
        ("SGD", {"learning_rate": -1}),
        ("Adam", {"learning_rate": float("nan")}),
        ("Adam", {"learning_rate": 1e300}),
        ("Adam", {"learning_rate": 10**400}),
    ],
)
def test_number_out_of_range_is_refused_by_name(cls, arguments):
    [(name, value)] = arguments.items()
    with pytest.raises(ValueError, match=f"^`{name}` of {cls} must be ") as refused:
        getattr(ptf.optimizers, cls)(**arguments)
    assert str(refused.value).endswith(f" Received: {name}={value}")


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        ("SGD", {"momentum": "0.9"}),
        ("SGD", {"momentum": True}),
        ("SGD", {"nesterov": "yes"}),
        ("Adam", {"clipnorm": [1.0]}),
        ("AdamW", {"weight_decay": None}),
        ("Adam", {"learning_rate": "0.1"}),
        ("Adam", {"learning_rate": None}),
        ("Adam", {"learning_rate": True}),
    ],
)
def test_what_is_no_number_is_refused_by_name(cls, arguments):
    [name] = arguments
    with pytest.raises(TypeError, match=rf"`{name}` of {cls} must be .*{name}="):
        getattr(ptf.optimizers, cls)(**arguments)


def test_global_clipnorm_is_refused_with_what_to_use():
    with pytest.raises(NotImplementedError, match="`global_clipnorm`.*`clipnorm`"):
        ptf.optimizers.Adam(global_clipnorm=1.0)


def test_two_ways_to_clip_are_refused():
    with pytest.raises(ValueError, match="clipnorm=1.0, clipvalue=2.0"):
        ptf.optimizers.Adam(clipnorm=1.0, clipvalue=2.0)


def test_adagrad_that_would_divide_by_zero_is_refused():
    with pytest.raises(ValueError, match="`epsilon` of Adagrad must be above 0"):
        ptf.optimizers.Adagrad(initial_accumulator_value=0, epsilon=0)


@pytest.mark.parametrize("argument", ["use_ema", "name", "loss_scale_factor"])
@pytest.mark.parametrize("cls", CLASSES)
def test_argument_that_would_be_ignored_is_refused(cls, argument):
    message = f"{cls.__name__} has no argument `{argument}`.*clipnorm.*{argument}=0.1$"
    with pytest.raises(TypeError, match=message):
        cls(**{argument: 0.1})


@pytest.mark.parametrize("cls", CLASSES)
def test_lazy_is_among_the_arguments_of_those_that_can_be_dense(cls):
    with pytest.raises(TypeError) as raised:
        cls(dense=True)
    known = str(raised.value).partition("only")[2]
    assert ("weight_bound, lazy. Received" in known) == cls.can_be_dense


@pytest.mark.parametrize("made", [tf.Variable, getattr(keras, "Variable", tf.Variable)])
def test_a_variable_as_learning_rate_is_refused_with_what_to_do(made):
    message = "`learning_rate` of Adam.*variable.*`optimizer.learning_rate = x`"
    with pytest.raises(TypeError, match=message):
        ptf.optimizers.Adam(made(0.1))


def test_an_optimizer_of_other_numbers_is_another_table(table):
    ptf.layers.PersiaEmbedding(4, table=table, optimizer="adam").build((None,))
    other = ptf.layers.PersiaEmbedding(
        4, table=table, optimizer=ptf.optimizers.Adam(clipnorm=1.0)
    )
    with pytest.raises(ptf.errors.AlreadyExistsError, match="clipnorm=1"):
        other.build((None,))
