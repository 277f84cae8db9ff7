"""The RMSprop optimizer."""

from __future__ import annotations

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import DECAY, FLAG, MOMENTUM, POSITIVE


@keras.saving.register_keras_serializable(package="persia_tf")
class RMSprop(Optimizer):
    """RMSprop (Hinton, Srivastava and Swersky, 2012), as in Keras's RMSprop.

    First, `v = rho * v + (1 - rho) * g**2`. If centered, then
    `mean = rho * mean + (1 - rho) * g` and `variance = max(v - mean**2, 0)`; otherwise
    `variance = v`. Then `step = learning_rate * g / sqrt(variance + epsilon)`. Without
    momentum, `w -= step`. With momentum, `move = momentum * move + step`, then
    `w -= move`. (Keras does not apply `max`, so its weights become NaN if rounding
    makes `v - mean**2` negative.) State per row: `v`; with momentum also `move`; if
    centered also `mean`; with `lazy=False` also three numbers.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        rho: Decay of the averages, in [0, 1). Defaults to `0.9`.
        momentum: A float from 0 to 1. Defaults to `0.0`.
        epsilon: A float above 0. Defaults to `1e-7`.
        centered: Whether to divide by the standard deviation of gradients instead of
            their root mean square. Defaults to `False`.
        **options: `weight_decay`, `clipnorm`, `clipvalue`, `weight_bound` and `lazy`,
            as for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "rmsprop"
    can_be_dense = True
    ranges = {
        "rho": DECAY,
        "momentum": MOMENTUM,
        "epsilon": POSITIVE,
        "centered": FLAG,
    }

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: float | bool | None,
    ) -> None:
        parameters = {
            "rho": rho,
            "momentum": momentum,
            "epsilon": epsilon,
            "centered": centered,
        }
        super().__init__(learning_rate, parameters, **options)
