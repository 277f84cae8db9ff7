"""Checks the values of arguments; several modules share these functions."""

from __future__ import annotations

import math
import numbers
from typing import Any

# The longest timeout that an argument may set: eleven days. Every function that waits
# accepts a timeout of this length.
MOST_SECONDS = 1e6

# How many characters of a value messages show.
_MOST_SHOWN = 200


def is_integer(value: Any) -> bool:
    """Returns whether `value` is an int or a NumPy integer, but not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def integer(name: str, value: Any, least: int, most: int, reason: str = "") -> int:
    """Returns `value` as an int, if it is an integer within a range.

    Args:
        name: The argument's name, for messages.
        value: The argument's value.
        least: The smallest allowed value.
        most: The largest allowed value.
        reason: Text that error messages append to the range, "from `least` to `most`".

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if `value` is below `least` or above `most`.
    """
    refusal = (
        f"`{name}` must be an integer from {least} to {most}{reason}. "
        f"Received: {name}={value!r}"
    )
    if not is_integer(value):
        raise TypeError(refusal)
    if not least <= value <= most:
        raise ValueError(refusal)
    return int(value)


def positive(name: str, value: Any) -> float:
    """Returns `value` as a float, if it is a finite number above zero.

    Args:
        name: The argument's name, for messages.
        value: The argument's value.

    Raises:
        TypeError: if `value` is not a number.
        ValueError: if `value` is zero or negative, or not finite.
    """
    refusal = f"`{name}` must be a finite number above 0. Received: {name}={value!r}"
    if not _is_number(value):
        raise TypeError(refusal)
    if not 0 < as_float(value) < math.inf:
        raise ValueError(refusal)
    return float(value)


def within(name: str, value: Any, least: float, most: float) -> float:
    """Returns `value` as a float, if it is a number within a range.

    Args:
        name: The argument's name, for messages.
        value: The argument's value.
        least: The smallest allowed value.
        most: The largest allowed value.

    Raises:
        TypeError: if `value` is not a number.
        ValueError: if `value` is below `least` or above `most`.
    """
    refusal = (
        f"`{name}` must be a number from {least:g} to {most:g}. "
        f"Received: {name}={value!r}"
    )
    if not _is_number(value):
        raise TypeError(refusal)
    if not least <= as_float(value) <= most:
        raise ValueError(refusal)
    return float(value)


def one_of(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raises ValueError if `value` is not one of the `options`.

    Args:
        name: The argument's name, for messages.
        value: The argument's value.
        options: The allowed values.
    """
    # `in` alone would accept a NumPy or TensorFlow dtype, which compares equal to its
    # name, so also require a str.
    if not isinstance(value, str) or value not in options:
        raise ValueError(
            f"`{name}` must be one of {options}. Received: {name}={value!r}"
        )


def instance(
    name: str, value: Any, of: type | tuple[type, ...], what: str, *, none: bool = False
) -> None:
    """Raises TypeError if `value` is not an instance of `of`.

    Args:
        name: The argument's name, for messages.
        value: The argument's value.
        of: The allowed class or classes.
        what: How error messages describe `of`, such as "a str".
        none: Whether None is allowed too.
    """
    if isinstance(value, of) or (none and value is None):
        return
    or_none = " or None" if none else ""
    raise TypeError(
        f"`{name}` must be {what}{or_none}. Received: {name}={shown(value)}"
    )


def shown(value: Any) -> str:
    """Returns a value as messages show it: its beginning, if it is long."""
    text = repr(value)
    if len(text) <= _MOST_SHOWN:
        return text
    return f"{text[:_MOST_SHOWN]}... of type {type(value).__name__}"


def as_float(value: Any) -> float:
    """Returns `float(value)`, or an infinity for an int beyond a float's range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
