"""Refuses models that would train differently with divided weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from persia_tf._keras import keras
from persia_tf.parallel.divided_layer import DividedLayer

# Each number of a weight is updated by itself, so a part is updated as in the whole.
_OPTIMIZERS = "SGD RMSprop Adam AdamW Adadelta Adagrad Adamax Nadam Ftrl Lion".split()


def check_optimizer(optimizer: Any) -> None:
    """Raises ValueError if an optimizer cannot update parts of weights.

    Args:
        optimizer: The compiled optimizer of a model with divided layers.
    """
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
