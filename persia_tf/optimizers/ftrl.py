"""FTRL: follow the regularized leader."""

from __future__ import annotations

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import LEARNING_RATE_POWER, NOT_NEGATIVE


@keras.saving.register_keras_serializable(package="persia_tf")
class Ftrl(Optimizer):
    """FTRL-Proximal (McMahan et al., 2013), as in `keras.optimizers.Ftrl`.

    With `p = -learning_rate_power`, `n` the accumulator, `z` the linear term, and `l1`,
    `l2` and `l2_shrinkage` the regularization strengths:
    `sigma = ((n + g**2)**p - n**p) / learning_rate`, `n += g**2`,
    `z += g + 2 * l2_shrinkage * w - sigma * w`,
    `w = (clip(z, -l1, l1) - z) / ((n**p + beta) / learning_rate + 2 * l2)`.
    State per row: `n` and `z`.

    An update computes the weights from `n` and `z` alone. A new row's `z` is 0 for any
    initial weights, and the first update puts only a part of these weights into `z`, by
    the term `sigma * w`. So the first update shrinks the initial weights; a smaller
    gradient shrinks them more. The paper initializes weights to zero. A step with a
    learning rate of 0 does not change any row, while Keras would divide by 0.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        learning_rate_power: A float from -2 to 0; 0 for a fixed learning rate.
            Values other than `-0.5` take longer to compute. Defaults to `-0.5`.
        initial_accumulator_value: A new row's `n`, at least 0. Defaults to `0.1`.
        l1_regularization_strength: A float of at least 0. Defaults to `0.0`.
        l2_regularization_strength: A float of at least 0. Defaults to `0.0`.
        l2_shrinkage_regularization_strength: A float of at least 0.
            Defaults to `0.0`.
        beta: A float of at least 0. Defaults to `0.0`.
        **options: `weight_decay`, `clipnorm`, `clipvalue` and `weight_bound`, as
            for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "ftrl"
    ranges = {
        "learning_rate_power": LEARNING_RATE_POWER,
        "initial_accumulator_value": NOT_NEGATIVE,
        "l1_regularization_strength": NOT_NEGATIVE,
        "l2_regularization_strength": NOT_NEGATIVE,
        "l2_shrinkage_regularization_strength": NOT_NEGATIVE,
        "beta": NOT_NEGATIVE,
    }

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: float | None,
    ) -> None:
        parameters = {
            "learning_rate_power": learning_rate_power,
            "initial_accumulator_value": initial_accumulator_value,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
            "l2_shrinkage_regularization_strength": (
                l2_shrinkage_regularization_strength
            ),
            "beta": beta,
        }
        super().__init__(learning_rate, parameters, **options)
