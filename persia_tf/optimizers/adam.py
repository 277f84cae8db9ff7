"""The Adam and AdamW optimizers."""

from __future__ import annotations

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import DECAY, FLAG, POSITIVE

_RANGES = {"beta_1": DECAY, "beta_2": DECAY, "epsilon": POSITIVE, "amsgrad": FLAG}


@keras.saving.register_keras_serializable(package="persia_tf")
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), lazy by default, with the arithmetic of Keras's Adam.

    With `t` the number of updates of the row:
    `alpha = learning_rate * sqrt(1 - beta_2**t) / (1 - beta_1**t)`,
    `m += (g - m) * (1 - beta_1)`, `v += (g**2 - v) * (1 - beta_2)`,
    `w -= m * alpha / (sqrt(v) + epsilon)`. With AMSGrad (Reddi, Kale and Kumar,
    2018), the last formula uses the maximum `v` that each weight ever had instead of
    `v`. State per row: `m`, `v`, `t`, and with AMSGrad the maximum `v`; with
    `lazy=False`, three numbers replace `t`.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        beta_1: Decay of the first moment, in [0, 1). Defaults to `0.9`.
        beta_2: Decay of the second moment, in [0, 1). Defaults to `0.999`.
        epsilon: A float above 0. Defaults to `1e-7`.
        amsgrad: Whether to apply AMSGrad. Defaults to `False`.
        **options: `weight_decay`, `clipnorm`, `clipvalue`, `weight_bound` and `lazy`,
            as for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "adam"
    ranges = _RANGES
    can_be_dense = True

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: float | bool | None,
    ) -> None:
        parameters = {
            "beta_1": beta_1,
            "beta_2": beta_2,
            "epsilon": epsilon,
            "amsgrad": amsgrad,
        }
        super().__init__(learning_rate, parameters, **options)


@keras.saving.register_keras_serializable(package="persia_tf")
class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    A step applies `w -= learning_rate * weight_decay * w`, and then Adam's update, to
    the rows that it touches. This rule equals `keras.optimizers.AdamW` if every step
    touches every row.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        weight_decay: A float of at least 0. Defaults to `0.004`.
        beta_1: Decay of the first moment, in [0, 1). Defaults to `0.9`.
        beta_2: Decay of the second moment, in [0, 1). Defaults to `0.999`.
        epsilon: A float above 0. Defaults to `1e-7`.
        amsgrad: Whether to apply AMSGrad. Defaults to `False`.
        **options: `clipnorm`, `clipvalue`, `weight_bound` and `lazy`, as for
            `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "adamw"
    decays_by_default = True

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: float | bool | None,
    ) -> None:
        if weight_decay is None:
            raise TypeError(
                "`weight_decay` of AdamW must be a number; Adam takes None. "
                "Received: weight_decay=None"
            )
        super().__init__(
            learning_rate,
            beta_1,
            beta_2,
            epsilon,
            amsgrad,
            weight_decay=weight_decay,
            **options,
        )
