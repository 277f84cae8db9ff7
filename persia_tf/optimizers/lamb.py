"""The LAMB optimizer, with norms that are computed for each row."""

from __future__ import annotations

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import DECAY, POSITIVE


@keras.saving.register_keras_serializable(package="persia_tf")
class Lamb(Optimizer):
    """LAMB (You et al., 2020), as `keras.optimizers.Lamb` applied to each row.

    With `t` the number of updates of the row:
    `m += (g - m) * (1 - beta_1)`, `v += (g**2 - v) * (1 - beta_2)`,
    `u = m / (1 - beta_1**t) / (sqrt(v / (1 - beta_2**t)) + epsilon)`,
    `w -= learning_rate * norm(w) / norm(u) * u`, where `norm(w) / norm(u)` is replaced
    by 1 if either norm is 0. The norms are those of the row, while Keras computes the
    norms of a whole variable; so this rule equals Keras's if each row is a variable of
    its own. State per row: `m`, `v`, `t`.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.001`.
        beta_1: Decay of the first moment, in [0, 1). Defaults to `0.9`.
        beta_2: Decay of the second moment, in [0, 1). Defaults to `0.999`.
        epsilon: A float above 0. Defaults to `1e-7`.
        **options: `weight_decay`, `clipnorm`, `clipvalue` and `weight_bound`, as
            for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "lamb"
    ranges = {"beta_1": DECAY, "beta_2": DECAY, "epsilon": POSITIVE}

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: float | None,
    ) -> None:
        parameters = {"beta_1": beta_1, "beta_2": beta_2, "epsilon": epsilon}
        super().__init__(learning_rate, parameters, **options)
