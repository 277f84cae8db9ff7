"""A table's capacity, in rows or in bytes."""

from __future__ import annotations

from typing import Any

from persia_tf.base import checks, sizes
from persia_tf.base.spec import format_spec

# The largest capacity that the core accepts, in rows or bytes.
_MOST = 10**18


def get(capacity: Any) -> int | str | None:
    """Checks a capacity and returns it, with NumPy's integers converted to int.

    Args:
        capacity: A number of rows, as an integer; a number of bytes, as a str such
            as `"64GiB"`; or None for no limit.

    Raises:
        TypeError: for any other type.
        ValueError: for a number that is not from 1 to 1e18, or a str that does not
            parse.
    """
    spec(capacity)
    return int(capacity) if checks.is_integer(capacity) else capacity


def spec(capacity: int | str | None) -> str:
    """Returns a capacity in the text format of the native core.

    Example:

    >>> spec("1.5kB")
    'bytes(count=1500.0)'

    Args:
        capacity: As for `get`.

    Returns:
        `"unlimited"`, `"rows(count=...)"` or `"bytes(count=...)"`.

    Raises:
        TypeError, ValueError: As for `get`.
    """
    if capacity is None:
        return "unlimited"
    if isinstance(capacity, str):
        return format_spec("bytes", {"count": _bytes(capacity)})
    if not checks.is_integer(capacity):
        raise TypeError(
            "`capacity` must be a number of rows, as an int, a number of bytes, as a "
            f'str such as "64GiB", or None. Received: capacity={capacity!r}'
        )
    _check_count(capacity, "rows", capacity)
    return format_spec("rows", {"count": capacity})


def _bytes(text: str) -> int:
    count = sizes.parse("capacity", text, "; a number of rows is an int")
    _check_count(count, "bytes", text)
    return int(count)


def _check_count(count: float, unit: str, capacity: Any) -> None:
    if not 1 <= count <= _MOST:
        raise ValueError(
            f"`capacity` must be from 1 to 1e18 {unit} (None sets no limit). "
            f"Received: capacity={capacity!r}"
        )
