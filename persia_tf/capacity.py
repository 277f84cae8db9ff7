"""How much a table may hold: rows, or bytes."""

from __future__ import annotations

import re
from typing import Any

from persia_tf.spec import format_spec

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*", re.IGNORECASE)
_POWERS = {None: 0, "K": 1, "M": 2, "G": 3, "T": 4}


def check(capacity: Any) -> None:
    """Refuses what is no capacity, naming the rule and the value.

    Args:
        capacity: None; an int, a number of rows; or a str, a number of bytes
            such as `"64GiB"`.

    Raises:
        TypeError: if it is something else.
        ValueError: if it is below 1, or does not parse.
    """
    spec(capacity)


def spec(capacity: int | str | None) -> str:
    """Returns a capacity as the core's text.

    Example:

    >>> spec("1.5kB")
    'bytes(count=1500.0)'

    Args:
        capacity: As for `check`.

    Returns:
        `"unlimited"`, `"rows(count=...)"` or `"bytes(count=...)"`.

    Raises:
        TypeError, ValueError: As `check`.
    """
    if capacity is None:
        return "unlimited"
    if isinstance(capacity, str):
        return format_spec("bytes", {"count": _bytes(capacity)})
    if isinstance(capacity, bool) or not isinstance(capacity, int):
        raise TypeError(
            "`capacity` must be a number of rows, as an int, a number of bytes, as a "
            f'str such as "64GiB", or None. Received: capacity={capacity!r}'
        )
    if capacity < 1:
        raise ValueError(
            "`capacity` must be at least 1 row (None sets no limit). "
            f"Received: capacity={capacity}"
        )
    return format_spec("rows", {"count": capacity})


def _bytes(text: str) -> int:
    parsed = _SIZE.fullmatch(text)
    if parsed is None:
        raise ValueError(
            "`capacity` as a str must be a number of bytes with a unit: B, kB, MB, GB "
            'or TB (powers of 1000), KiB, MiB, GiB or TiB (of 1024), such as "64GiB"; '
            f"a number of rows is an int. Received: capacity={text!r}"
        )
    number, prefix, binary = parsed.groups()
    base = 1024 if binary else 1000
    count = int(float(number) * base ** _POWERS[prefix and prefix.upper()])
    if count < 1:
        raise ValueError(
            "`capacity` must be at least 1 byte (None sets no limit). "
            f"Received: capacity={text!r}"
        )
    return count
