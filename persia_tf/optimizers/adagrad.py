"""Adagrad, with an accumulator per weight or per row."""

from __future__ import annotations

import numpy as np

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import NOT_NEGATIVE

_RANGES = {"initial_accumulator_value": NOT_NEGATIVE, "epsilon": NOT_NEGATIVE}


@keras.saving.register_keras_serializable(package="persia_tf")
class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011), as in `keras.optimizers.Adagrad`.

    `accumulator += g**2`, then
    `w -= learning_rate * g / sqrt(accumulator + epsilon)`, element-wise. State per row:
    one accumulator per weight.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        initial_accumulator_value: A new row's accumulator, at least 0.
            Defaults to `0.1`.
        epsilon: A float of at least 0, and above 0 where
            `initial_accumulator_value` is 0. Defaults to `1e-7`.
        **options: `weight_decay`, `clipnorm`, `clipvalue` and `weight_bound`, as
            for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "adagrad"
    ranges = _RANGES

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: float | None,
    ) -> None:
        parameters = {
            "initial_accumulator_value": initial_accumulator_value,
            "epsilon": epsilon,
        }
        super().__init__(learning_rate, parameters, **options)
        if np.float32(initial_accumulator_value) + np.float32(epsilon) == 0:
            raise ValueError(
                f"`epsilon` of {type(self).__name__} must be above 0 in float32 where "
                "initial_accumulator_value is 0, or zero gradients would divide 0 by "
                f"0. Received: epsilon={epsilon!r}"
            )


@keras.saving.register_keras_serializable(package="persia_tf")
class RowWiseAdagrad(Adagrad):
    """Adagrad with one accumulator per row (Gupta, Bengio and Weston, 2014).

    `accumulator += mean(g**2)` over the row's weights, then
    `w -= learning_rate * g / sqrt(accumulator + epsilon)`. For rows with one weight
    this rule equals Keras's Adagrad. For longer rows, its state takes much less memory
    than that of `Adagrad`, but all weights of a row have the same step size. State per
    row: one number.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        initial_accumulator_value: A new row's accumulator, at least 0.
            Defaults to `0.1`.
        epsilon: A float of at least 0, and above 0 where
            `initial_accumulator_value` is 0. Defaults to `1e-7`.
        **options: `weight_decay`, `clipnorm`, `clipvalue` and `weight_bound`, as
            for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "rowwise_adagrad"
