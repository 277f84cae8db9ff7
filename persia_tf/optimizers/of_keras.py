"""The row optimizer that does what a Keras optimizer does."""

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
    """A row optimizer in place of a Keras optimizer.

    Attributes:
        optimizer: The row optimizer. Its learning rate counts for nothing.
        differences: What it does otherwise, a clause each.
    """

    optimizer: Optimizer
    differences: tuple[str, ...]


def row_rule(optimizer: Any) -> RowRule:
    """Returns what does to rows what a Keras optimizer does to weights.

    Rows have no equal of some optimizers and options: then it is what is nearest.

    Args:
        optimizer: A Keras optimizer, of a class of Keras's or one derived from it.

    Returns:
        A `RowRule`.
    """
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    with tf.init_scope():  # It reads the learning rate.
        config = optimizer.get_config()
    name = _nearest_rule(optimizer)
    differences = []
    if name is None:
        differences.append(f"rows have no {type(optimizer).__name__}")
        adam = Adam(lazy=False, **_clipping(config, differences))
        return RowRule(adam, tuple(differences))
    if name != type(optimizer).__name__:
        differences.append(
            f"rows know of {type(optimizer).__name__} only that it is a {name}"
        )
    rule = _RULES[name]
    arguments = {
        name: config[name] for name in (*rule.ranges, *_OPTIONS) if name in config
    }
    if config.get("use_ema"):
        differences.append("rows have no moving average (use_ema)")
    arguments.update(_clipping(config, differences))
    if rule.can_be_dense:
        arguments["lazy"] = False
    return RowRule(rule(**arguments), tuple(differences))


def learning_rate_of(optimizer: Any) -> tf.Tensor:
    """Returns the learning rate of the step that an optimizer is taking.

    Args:
        optimizer: A Keras optimizer that is applying gradients.

    Returns:
        A float32 scalar, read when the graph runs.
    """
    if hasattr(optimizer, "_decayed_lr"):  # One of tf_keras.optimizers.legacy.
        return optimizer._decayed_lr(tf.float32)
    return tf.cast(tf.convert_to_tensor(optimizer.learning_rate), tf.float32)


def step_of(optimizer: Any) -> tf.Tensor:
    """Returns which step an optimizer is taking, counted from 1.

    Args:
        optimizer: A Keras optimizer that is applying gradients, and constraints.

    Returns:
        An int64 scalar, read when the graph runs.
    """
    done = tf.cast(tf.convert_to_tensor(optimizer.iterations), tf.int64)
    # tf_keras counts a step before it applies constraints.
    return done + 1 if IS_KERAS_3 else done


def _nearest_rule(optimizer: Any) -> str | None:
    """The name of the class of Keras's that has a row rule and is nearest."""
    for cls in type(optimizer).__mro__:
        name = cls.__name__
        if name in _RULES and cls in _classes_of_keras(name):
            return name
    return None


def _classes_of_keras(name: str) -> list[Any]:
    modules = (keras.optimizers, getattr(keras.optimizers, "legacy", None))
    return [getattr(module, name, None) for module in modules]


def _clipping(config: dict[str, Any], differences: list[str]) -> dict[str, float]:
    """Clipping by a norm: Keras's is of a weight, or of all; here it is a row's."""
    for option in ("clipnorm", "global_clipnorm"):
        if config.get(option):
            differences.append(f"{option} bounds the norm of each row's gradient")
            return {"clipnorm": config[option]}
    return {}
