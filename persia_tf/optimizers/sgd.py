"""Stochastic gradient descent, with optional momentum."""

from __future__ import annotations

from persia_tf._keras import keras
from persia_tf.optimizers.optimizer import LearningRateLike, Optimizer
from persia_tf.optimizers.ranges import FLAG, MOMENTUM


@keras.saving.register_keras_serializable(package="persia_tf")
class SGD(Optimizer):
    """Gradient descent, with optional momentum, as in `keras.optimizers.SGD`.

    Without momentum, `w -= learning_rate * g`. With momentum (Polyak, 1964),
    `v = momentum * v - learning_rate * g`, then `w += v`. With Nesterov momentum
    (Sutskever et al., 2013), the same `v`, then
    `w += momentum * v - learning_rate * g`. State per row: `v` with momentum, and
    with `lazy=False` also three numbers; otherwise none.

    Args:
        learning_rate: A float or a Keras schedule. Defaults to `0.01`.
        momentum: A float from 0 to 1. With a momentum of 0, rows have no state.
            Defaults to `0.0`.
        nesterov: Whether to apply Nesterov momentum. Defaults to `False`.
        **options: `weight_decay`, `clipnorm`, `clipvalue`, `weight_bound` and `lazy`,
            as for `Optimizer`.

    Raises:
        TypeError: for an argument that is not a number.
        ValueError: for a number out of its range.
    """

    rule = "sgd"
    can_be_dense = True
    ranges = {"momentum": MOMENTUM, "nesterov": FLAG}

    def __init__(
        self,
        learning_rate: LearningRateLike = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: float | bool | None,
    ) -> None:
        parameters = {"momentum": momentum, "nesterov": nesterov}
        if not momentum:
            # Without momentum, steps that do not touch a row have no effect on it, so
            # `lazy` makes no difference.
            options.pop("lazy", None)
        super().__init__(learning_rate, parameters, **options)
