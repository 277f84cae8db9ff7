"""The row optimizer that equals the optimizer of a compiled model."""

from __future__ import annotations

from typing import Any

from persia_tf import optimizers
from persia_tf._keras import keras

# Of Keras's optimizers: how they are run, which does not change their arithmetic.
_HOW_THEY_RUN = frozenset(
    {
        "ema_momentum",
        "ema_overwrite_frequency",
        "is_legacy_optimizer",
        "jit_compile",
        "loss_scale_factor",
        "name",
    }
)
# What rows do not have, or have in another sense: clipnorm's norm is of a variable
# for Keras, of a row here.
_UNEQUAL = ("clipnorm", "global_clipnorm", "use_ema", "gradient_accumulation_steps")


def row_optimizer(optimizer: Any, model: Any) -> optimizers.Optimizer:
    """Returns the optimizer for the rows of a model that is converted.

    Args:
        optimizer: What the caller asked for: as `persia_tf.optimizers.get` takes it,
            or None for one that equals the model's.
        model: The Keras model.

    Returns:
        A `persia_tf.optimizers.Optimizer`; Adagrad if neither says any.

    Raises:
        ValueError: if there is none that equals the model's.
    """
    if optimizer is not None:
        return optimizers.get(optimizer)
    compiled = getattr(model, "optimizer", None)
    if compiled is None:
        return optimizers.get("adagrad")
    return _equal_to(getattr(compiled, "inner_optimizer", compiled))


def _equal_to(optimizer: Any) -> optimizers.Optimizer:
    name = type(optimizer).__name__
    rule = getattr(optimizers, name, None)
    # Not a class of the user's, whatever its name.
    if rule is None or type(optimizer) is not getattr(keras.optimizers, name, None):
        raise ValueError(_refusal(optimizer, "rows have no such optimizer"))
    config = {k: v for k, v in optimizer.get_config().items() if k not in _HOW_THEY_RUN}
    for option in _UNEQUAL:
        value = config.pop(option, None)
        if value:
            raise ValueError(
                _refusal(optimizer, f"rows have no equal of its {option}={value!r}")
            )
    try:
        return rule.from_config(config)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(_refusal(optimizer, str(error))) from error


def _refusal(optimizer: Any, reason: str) -> str:
    return (
        f"the model is compiled with {type(optimizer).__name__}, and {reason}. Give "
        "the optimizer of the rows, such as optimizer=ptf.optimizers.Adagrad(0.05). "
        "Received: optimizer=None"
    )
