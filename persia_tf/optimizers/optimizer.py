"""The base of the row optimizers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

import tensorflow as tf

from persia_tf._keras import keras
from persia_tf.base.spec import format_spec
from persia_tf.optimizers.learning_rate import (
    LearningRate,
    StepCounter,
    is_schedule,
)
from persia_tf.optimizers.ranges import FLAG, NOT_NEGATIVE, POSITIVE, Range

# A learning rate: a number, or a `keras.optimizers.schedules.LearningRateSchedule`.
LearningRateLike = Union[float, Any]

_OPTIONS: Mapping[str, Range] = {
    "weight_decay": NOT_NEGATIVE,
    "clipnorm": POSITIVE,
    "clipvalue": POSITIVE,
    "weight_bound": POSITIVE,
}


class Optimizer:
    """Base of the row optimizers: a rule, its parameters and its learning rate.

    The learning rate may be changed during training: set
    `layer.optimizer.learning_rate`, for instance in a Keras callback, and the next
    step uses it, also in compiled graphs. Layers may share one optimizer object.

    Args:
        learning_rate: A float of at least 0, or a
            `keras.optimizers.schedules.LearningRateSchedule`, whose step is the
            number of steps that this program has committed for the layer.
        parameters: The rule's other parameters, by their Keras names.
        weight_decay: None, or a float of at least 0 for decoupled weight decay
            (Loshchilov and Hutter, 2019): a step first applies
            `w -= learning_rate * weight_decay * w`, and then the rule, to the rows
            that it touches. Defaults to `None`.
        clipnorm: None, or a float above 0: a row's summed gradient is scaled to
            an L2 norm of at most `clipnorm`: `g * min(1, clipnorm / norm(g))`.
            Defaults to `None`.
        clipvalue: None, or a float above 0: each value of a row's summed
            gradient is clipped to `[-clipvalue, clipvalue]`. Only one of
            `clipnorm` and `clipvalue` may be given. Defaults to `None`.
        global_clipnorm: Not supported: must be None.
        weight_bound: None, or a float above 0: the weights of updated rows are
            clipped to `[-weight_bound, weight_bound]`. Defaults to `None`.
        lazy: Whether a step has no effect on rows that it does not touch. False is
            allowed for `Adam`, `AdamW`, `RMSprop`, and `SGD` with momentum. With False,
            rows move as if every step changed every row: a step that touches a row
            moves it at once as far as momentum would move it until the step that is
            expected to touch it next, and the difference is corrected then; the step
            numbers in the row's formulas are those of the model's optimizer. Defaults
            to `True`.

    Raises:
        TypeError: for an argument that is not a number, or that the rule does not have.
        ValueError: for a number out of its range; the message names the argument.
        NotImplementedError: for `global_clipnorm`.
    """

    # `rule` is the rule's name in the native core; `ranges` has the allowed range of
    # each of the rule's parameters.
    rule = ""
    ranges: Mapping[str, Range] = {}

    # Whether the rule can catch up on steps that did not touch a row (`lazy=False`).
    can_be_dense = False

    # Whether the native core applies a weight decay if the rule's text sets none. If
    # so, the text must include `weight_decay` even if it is 0.
    decays_by_default = False

    def __init__(
        self,
        learning_rate: LearningRateLike,
        parameters: Mapping[str, float],
        *,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        weight_bound: float | None = None,
        lazy: bool = True,
        **unknown: Any,
    ) -> None:
        if not lazy and not self.can_be_dense:
            unknown["lazy"] = lazy
        if unknown:
            self._refuse_unknown(unknown)
        self._learning_rate = LearningRate(learning_rate, type(self).__name__)
        self._parameters = {
            name: self._checked(name, self.ranges[name], value)
            for name, value in parameters.items()
        }
        if global_clipnorm is not None:
            self._refuse_global_clipnorm(global_clipnorm)
        options = {
            "weight_decay": weight_decay,
            "clipnorm": clipnorm,
            "clipvalue": clipvalue,
            "weight_bound": weight_bound,
        }
        self._options = {
            name: None if value is None else self._checked(name, _OPTIONS[name], value)
            for name, value in options.items()
        }
        self._lazy = FLAG.checked(type(self).__name__, "lazy", lazy)
        if clipnorm is not None and clipvalue is not None:
            raise ValueError(
                f"only one of `clipnorm` and `clipvalue` of {type(self).__name__} may "
                f"be given. Received: clipnorm={clipnorm}, clipvalue={clipvalue}"
            )

    @property
    def lazy(self) -> bool:
        """Whether a row remains unchanged in steps that do not touch it."""
        return self._lazy

    @property
    def learning_rate(self) -> LearningRateLike:
        """The learning rate: a float, or the Keras schedule given to the constructor.

        Setting a number takes effect in the next step of every layer that uses this
        optimizer.

        Raises:
            TypeError: when the learning rate is set to anything but a number, or if it
                is a schedule, which cannot be replaced.
            ValueError: when it is set to a number that is negative or not finite.
        """
        return self._learning_rate.value

    @learning_rate.setter
    def learning_rate(self, learning_rate: LearningRateLike) -> None:
        self._learning_rate.set(learning_rate)

    def read_learning_rate(self, steps: StepCounter) -> tf.Tensor:
        """Returns the learning rate of a layer's current step.

        Args:
            steps: Counts the layer's commits.

        Returns:
            A float32 scalar, which is read when the graph runs.
        """
        return self._learning_rate.read(steps)

    def count_step(self, steps: StepCounter, committed: tf.Tensor) -> None:
        """Counts a step of a layer, if the learning rate depends on it.

        Args:
            steps: The counter that `read_learning_rate` got.
            committed: The result of the step's commit.
        """
        self._learning_rate.count(steps, committed)

    def spec(self) -> str:
        """Returns the rule and its parameters as a text for the native core.

        The text does not include the learning rate.
        """
        given = {k: v for k, v in self._options.items() if v is not None}
        if given.get("weight_decay") == 0 and not self.decays_by_default:
            # A weight decay of 0 has no effect, so a table must get the same settings
            # as if `weight_decay` were None.
            del given["weight_decay"]
        dense = {} if self._lazy else {"dense": 1.0}
        return format_spec(self.rule, {**self._parameters, **given, **dense})

    def get_config(self) -> dict[str, Any]:
        rate = self.learning_rate
        if is_schedule(rate):
            rate = keras.optimizers.schedules.serialize(rate)
        config = {"learning_rate": rate, **self._parameters, **self._options}
        return {**config, "lazy": self._lazy} if self.can_be_dense else config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Optimizer:
        config = dict(config)
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = keras.optimizers.schedules.deserialize(
                config["learning_rate"]
            )
        return cls(**config)

    def __reduce__(self) -> Any:
        # Create a copy from the config, so that the copy has its own learning rate,
        # which can be set without changing the original's.
        return type(self).from_config, (self.get_config(),)

    def __repr__(self) -> str:
        given = {k: v for k, v in self._options.items() if v is not None}
        arguments = {"learning_rate": self.learning_rate, **self._parameters, **given}
        if not self._lazy:
            arguments["lazy"] = False
        return (
            f"{type(self).__name__}("
            + ", ".join(f"{k}={v!r}" for k, v in arguments.items())
            + ")"
        )

    def _checked(self, name: str, allowed: Range, value: Any) -> Any:
        return allowed.checked(type(self).__name__, name, value)

    def _refuse_unknown(self, unknown: Mapping[str, Any]) -> None:
        lazy = ["lazy"] if self.can_be_dense else []
        known = [*self.ranges, *_OPTIONS, *lazy]
        received = ", ".join(f"{name}={value!r}" for name, value in unknown.items())
        raise TypeError(
            f"{type(self).__name__} has no argument `{next(iter(unknown))}`, only "
            f"learning_rate, {', '.join(known)}. Received: {received}"
        )

    def _refuse_global_clipnorm(self, global_clipnorm: Any) -> None:
        raise NotImplementedError(
            f"`global_clipnorm` of {type(self).__name__} is not supported: a norm over "
            "all weights would make each shard wait for all others. Use `clipnorm`, "
            "which limits the norm of each row's gradient. "
            f"Received: global_clipnorm={global_clipnorm!r}"
        )
