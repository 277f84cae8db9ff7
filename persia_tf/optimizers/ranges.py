"""The allowed ranges of optimizers' arguments."""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from persia_tf.base import checks

FLOAT32_MAX = float(np.finfo(np.float32).max)


@dataclasses.dataclass(frozen=True)
class Range:
    """The allowed range of an optimizer's argument.

    Attributes:
        text: A description of the range, which follows "must be" in error messages.
        holds: Whether a number is in the range.
        kind: The type to which the argument is converted.
    """

    text: str
    holds: Callable[[float], bool]
    kind: type = float

    def checked(self, rule: str, argument: str, value: Any) -> Any:
        """Checks that `value` is in the range, and returns it converted to `kind`.

        Args:
            rule: The optimizer's class, for error messages.
            argument: The argument's name, for error messages.
            value: The argument's value.

        Raises:
            TypeError: if `value` is not a number.
            ValueError: if `value` is out of range.
        """
        is_flag = self.kind is bool
        if isinstance(value, (bool, np.bool_)) and not is_flag:
            raise TypeError(_message(rule, argument, "a number", value))
        if not isinstance(value, (numbers.Real, np.bool_)):
            expected = "a bool" if is_flag else "a number"
            raise TypeError(_message(rule, argument, expected, value))
        if not self.holds(checks.as_float(value)):
            raise ValueError(_message(rule, argument, self.text, value))
        return self.kind(value)


def _message(rule: str, argument: str, expected: str, value: Any) -> str:
    return f"`{argument}` of {rule} must be {expected}. Received: {argument}={value!r}"


NOT_NEGATIVE = Range(
    "at least 0 and within the range of float32", lambda x: 0 <= x <= FLOAT32_MAX
)
LEARNING_RATE_POWER = Range("from -2 to 0", lambda x: -2 <= x <= 0)
POSITIVE = Range(
    "above 0 and within the range of float32",
    lambda x: x <= FLOAT32_MAX and np.float32(x) > 0,
)
DECAY = Range(
    "at least 0 and, rounded to float32, below 1",
    lambda x: x >= 0 and _rounded(x) < 1,
)
MOMENTUM = Range("between 0 and 1", lambda x: 0 <= x <= 1)
FLAG = Range("True or False", lambda x: x in (0, 1), bool)


def _rounded(number: float) -> float:
    return float(np.float32(min(number, FLOAT32_MAX)))
