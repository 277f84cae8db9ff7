"""Refuses models that would train differently with divided weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persia_tf._keras import keras
from persia_tf.parallel.divided_layer import DividedLayer
from persia_tf.parallel.gradients import inner_optimizer

# Each number of a weight is updated by itself, so a part is updated as in the whole.
_OPTIMIZERS = "SGD RMSprop Adam AdamW Adadelta Adagrad Adamax Nadam Ftrl Lion".split()


def check_optimizer(optimizer: Any) -> None:
    """Raises ValueError if an optimizer cannot update parts of weights.

    Args:
        optimizer: The compiled optimizer of a model with divided layers, which may be
            in a loss scaler.
    """
    optimizer = inner_optimizer(optimizer)
    name = type(optimizer).__name__
    known = (getattr(keras.optimizers, each, None) for each in _OPTIMIZERS)
    if not any(type(optimizer) is each for each in known):
        raise ValueError(
            "a model with divided layers must be compiled with one of the optimizers "
            f"of Keras that update each number by itself: {', '.join(_OPTIMIZERS)}. "
            f"Received: {name}"
        )
    for option in ("clipnorm", "global_clipnorm"):
        if getattr(optimizer, option, None):
            raise ValueError(
                f"`{option}` cannot be computed from parts of weights: use `clipvalue`,"
                " or a plan without divided layers. Received: an optimizer with "
                f"{option}={getattr(optimizer, option)}"
            )


def check_scaling(optimizer: Any, encoded: bool) -> None:
    """Raises ValueError if a loss scaler would not work with a plan.

    Args:
        optimizer: The compiled optimizer of the model, which may be a loss scaler.
        encoded: Whether the plan encodes gradients or activations.
    """
    if inner_optimizer(optimizer) is optimizer:
        return
    if not isinstance(optimizer, keras.mixed_precision.LossScaleOptimizer):
        raise ValueError(
            "the only wrapper of an optimizer that a plan works with is "
            "keras.mixed_precision.LossScaleOptimizer. Received: "
            f"{type(optimizer).__name__}"
        )
    if encoded:
        raise ValueError(
            "a plan that encodes gradients or activations needs an optimizer without "
            "loss scaling, since errors of gradients that are not finite would be "
            "added to later ones: use the policy mixed_bfloat16, or a plan without "
            f"`encode`. Received: an optimizer {type(optimizer).__name__}"
        )


def check_layers(layers: Sequence[DividedLayer]) -> None:
    """Raises ValueError if a divided weight has a constraint that needs the whole."""
    for layer in layers:
        for variable in layer.variables:
            constraint = getattr(variable.variable, "constraint", None)
            allowed = keras.constraints.NonNeg
            if constraint is not None and not isinstance(constraint, allowed):
                raise ValueError(
                    "a divided weight can have no constraint other than "
                    "keras.constraints.NonNeg: place the layer as `data`. Received: "
                    f"the layer {layer.name} with {constraint!r}"
                )
