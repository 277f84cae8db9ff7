"""Finds the row optimizer that is equivalent to a Keras optimizer."""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from persia_tf._keras import IS_KERAS_3, keras
from persia_tf.optimizers.adagrad import Adagrad
from persia_tf.optimizers.adam import Adam, AdamW
from persia_tf.optimizers.ftrl import Ftrl
from persia_tf.optimizers.lamb import Lamb
from persia_tf.optimizers.optimizer import Optimizer
from persia_tf.optimizers.rmsprop import RMSprop
from persia_tf.optimizers.sgd import SGD

_RULES = {
    rule.__name__: rule for rule in (Adagrad, Adam, AdamW, Ftrl, Lamb, RMSprop, SGD)
}
_OPTIONS = ("weight_decay", "clipvalue")


class RowRule(NamedTuple):
    """The row optimizer that is chosen for a Keras optimizer.

    Attributes:
        optimizer: The row optimizer. Its own learning rate is not used if the Keras
            optimizer's learning rate is known.
        differences: How the row optimizer differs from the Keras optimizer, one clause
            per difference.
    """

    optimizer: Optimizer
    differences: tuple[str, ...]


def row_rule(optimizer: Any) -> RowRule:
    """Returns the row optimizer that is equivalent to a Keras optimizer.

    If the Keras optimizer or one of its options has no equivalent for rows, the result
    is the closest row optimizer and a list of the differences.

    Args:
        optimizer: A Keras optimizer, of one of Keras's classes or a subclass.

    Returns:
        A `RowRule`.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    # `get_config` reads the learning rate's value, which is impossible while a graph is
    # being traced; `init_scope` leaves the graph.
    with tf.init_scope():
        config = optimizer.get_config()
    name = _nearest_rule(optimizer)
    differences = []
    if name is None:
        differences.append(f"rows do not support {type(optimizer).__name__}")
        adam = Adam(lazy=False, **_clipping(config, differences))
        return RowRule(adam, tuple(differences))
    if name != type(optimizer).__name__:
        differences.append(
            f"{type(optimizer).__name__} is a subclass, and rows use only the rule of "
            f"{name}"
        )
    rule = _RULES[name]
    arguments = {
        name: config[name] for name in (*rule.ranges, *_OPTIONS) if name in config
    }
    if config.get("use_ema"):
        differences.append("rows do not support a moving average (use_ema)")
    arguments.update(_clipping(config, differences))
    if rule.can_be_dense:
        arguments["lazy"] = False
    return RowRule(rule(**arguments), tuple(differences))


def learning_rate_of(optimizer: Any) -> tf.Tensor:
    """Returns the learning rate of an optimizer's current step.

    Args:
        optimizer: A Keras optimizer that is applying gradients.

    Returns:
        A float32 scalar, read when the graph runs.
    """
    if hasattr(optimizer, "_decayed_lr"):  # A tf_keras.optimizers.legacy optimizer.
        return optimizer._decayed_lr(tf.float32)
    return tf.cast(tf.convert_to_tensor(optimizer.learning_rate), tf.float32)


def step_of(optimizer: Any) -> tf.Tensor:
    """Returns the number of an optimizer's current step, counted from 1.

    Args:
        optimizer: A Keras optimizer. Call this function only while the optimizer
            applies its variables' constraints: `iterations` is read as of then.

    Returns:
        An int64 scalar, read when the graph runs.
    """
    done = tf.cast(tf.convert_to_tensor(optimizer.iterations), tf.int64)
    # While constraints are applied, `iterations` includes the current step in tf_keras,
    # but not in Keras 3.
    return done + 1 if IS_KERAS_3 else done


def _nearest_rule(optimizer: Any) -> str | None:
    """Returns the name of the Keras class whose rule fits the optimizer best.

    It is the first class in the optimizer's method resolution order that is a Keras
    optimizer with an equivalent for rows; None if there is no such class.
    """
    for cls in type(optimizer).__mro__:
        name = cls.__name__
        if name in _RULES and cls in _classes_of_keras(name):
            return name
    return None


def _classes_of_keras(name: str) -> list[Any]:
    modules = (keras.optimizers, getattr(keras.optimizers, "legacy", None))
    return [getattr(module, name, None) for module in modules]


def _clipping(config: dict[str, Any], differences: list[str]) -> dict[str, float]:
    """Returns the argument `clipnorm` for a row optimizer, if the config clips norms.

    For rows, `clipnorm` bounds the norm of each row's gradient. In Keras, `clipnorm`
    bounds the norm of each variable's gradient, and `global_clipnorm` the norm of
    all gradients together. So the function also adds a clause to `differences`.
    """
    for option in ("clipnorm", "global_clipnorm"):
        if config.get(option):
            differences.append(f"{option} bounds the norm of each row's gradient")
            return {"clipnorm": config[option]}
    return {}
