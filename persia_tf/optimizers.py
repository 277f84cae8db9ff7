"""Optimizers of embedding rows.

They run where the rows live, on the rows that a step touched, with Keras's
names, defaults and arithmetic. They are lazy: a row that a step does not touch
does not move, and Adam's bias correction counts the row's own updates.
"""

from typing import Any, Union

from persia_tf._keras import keras
from persia_tf.spec import format_spec


class Optimizer:
    """Base of the row optimizers: a rule's name and its numbers.

    Args:
        learning_rate: A float above or equal to 0.
        parameters: The rule's other numbers, by their Keras names.
    """

    rule = ""

    def __init__(self, learning_rate: float, **parameters: float) -> None:
        if isinstance(learning_rate, bool) or not isinstance(
            learning_rate, (int, float)
        ):
            raise NotImplementedError(
                "`learning_rate` must be a number: schedules are not supported "
                f"yet. Received: learning_rate={learning_rate!r}"
            )
        if not 0 <= learning_rate < float("inf"):
            raise ValueError(
                "`learning_rate` must be a finite number of at least 0. "
                f"Received: learning_rate={learning_rate!r}"
            )
        self._learning_rate = float(learning_rate)
        self._parameters = parameters

    @property
    def learning_rate(self) -> float:
        """The learning rate. It is fixed: build a new optimizer to change it."""
        return self._learning_rate

    def spec(self) -> str:
        """The rule and its numbers, without the learning rate, as one text."""
        return format_spec(self.rule, self._parameters)

    def get_config(self) -> dict[str, Any]:
        return {"learning_rate": self._learning_rate, **self._parameters}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Optimizer":
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


@keras.saving.register_keras_serializable(package="persia_tf")
class SGD(Optimizer):
    """Gradient descent, with optional momentum.

    With `g` a row's summed gradient, as in `keras.optimizers.SGD`: without
    momentum `w -= learning_rate * g`; with momentum
    `v = momentum * v - learning_rate * g`, then `w += v`, or with Nesterov
    `w += momentum * v - learning_rate * g`.

    Args:
        learning_rate: A float. Defaults to `0.01`.
        momentum: A float from 0 to 1. Defaults to `0.0`: no state a row.
        nesterov: Whether to apply Nesterov momentum. Defaults to `False`.
    """

    rule = "sgd"

    def __init__(
        self,
        learning_rate: float = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, momentum=momentum, nesterov=nesterov)


@keras.saving.register_keras_serializable(package="persia_tf")
class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011), as in `keras.optimizers.Adagrad`.

    `accumulator += g**2`, then
    `w -= learning_rate * g / sqrt(accumulator + epsilon)`.

    Args:
        learning_rate: A float. Defaults to `0.001`.
        initial_accumulator_value: A new row's accumulator, at least 0.
            Defaults to `0.1`.
        epsilon: A small float. Defaults to `1e-7`.
    """

    rule = "adagrad"

    def __init__(
        self,
        learning_rate: float = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(
            learning_rate,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=epsilon,
        )


@keras.saving.register_keras_serializable(package="persia_tf")
class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015), lazy, with the arithmetic of Keras's Adam.

    With `t` the number of updates of the row:
    `alpha = learning_rate * sqrt(1 - beta_2**t) / (1 - beta_1**t)`,
    `m += (g - m) * (1 - beta_1)`, `v += (g**2 - v) * (1 - beta_2)`,
    `w -= m * alpha / (sqrt(v) + epsilon)`.

    Args:
        learning_rate: A float. Defaults to `0.001`.
        beta_1: Decay of the first moment, in [0, 1). Defaults to `0.9`.
        beta_2: Decay of the second moment, in [0, 1). Defaults to `0.999`.
        epsilon: A small float. Defaults to `1e-7`.
    """

    rule = "adam"

    def __init__(
        self,
        learning_rate: float = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
    ) -> None:
        super().__init__(learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


_BY_NAME = {cls.rule: cls for cls in (SGD, Adagrad, Adam)}


def get(identifier: Union[str, Optimizer]) -> Optimizer:
    """Returns the optimizer that `identifier` names or is.

    Args:
        identifier: `"sgd"`, `"adagrad"`, `"adam"`, or a `persia_tf` optimizer.

    Returns:
        A `persia_tf.optimizers.Optimizer`.

    Raises:
        ValueError: for anything else.
    """
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, str) and identifier.lower() in _BY_NAME:
        return _BY_NAME[identifier.lower()]()
    raise ValueError(
        "`optimizer` must be one of "
        f"{', '.join(repr(name) for name in sorted(_BY_NAME))} or an object of "
        "`persia_tf.optimizers` (Keras's own optimizers step the dense weights "
        f"only). Received: optimizer={identifier!r}"
    )
