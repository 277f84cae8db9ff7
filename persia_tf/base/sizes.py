"""Parses numbers of bytes with units, such as "64GiB"."""

from __future__ import annotations

import re

from persia_tf.base import checks

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([KMGT])(I?))?B\s*", re.IGNORECASE)
_POWERS = {None: 0, "K": 1, "M": 2, "G": 3, "T": 4}

# The largest number of bytes that an argument may have.
MOST = 10**18


def with_unit(text: str) -> float | None:
    """Returns the number of bytes in a text such as `"64GiB"`; None for another text.

    The units are B, kB, MB, GB and TB (powers of 1000), and KiB, MiB, GiB and TiB
    (powers of 1024).
    """
    parsed = _SIZE.fullmatch(text)
    if parsed is None:
        return None
    number, prefix, binary = parsed.groups()
    base = 1024 if binary else 1000
    return float(number) * base ** _POWERS[prefix and prefix.upper()]


def parse(name: str, text: str, otherwise: str = "") -> float:
    """Returns the number of bytes in a text such as `"64GiB"`.

    Args:
        name: The argument's name, for messages.
        text: A number with a unit.
        otherwise: Text that the error message appends: what else the argument may be.

    Raises:
        ValueError: if the text does not parse.
    """
    count = with_unit(text)
    if count is None:
        raise ValueError(
            f"`{name}` as a str must be a number of bytes with a unit: B, kB, MB, GB "
            'or TB (powers of 1000), KiB, MiB, GiB or TiB (of 1024), such as "64GiB"'
            f"{otherwise}. Received: {name}={text!r}"
        )
    return count


def count_bytes(name: str, value: int | str) -> int:
    """Converts an integer, or a text such as `"64GiB"`, to a number of bytes.

    Args:
        name: The argument's name, for messages.
        value: An integer of at least 0, or a text such as `"64GiB"`.

    Raises:
        TypeError: if `value` is neither an integer nor a str.
        ValueError: if an integer is out of range, or a text does not parse.
    """
    if isinstance(value, str):
        return int(parse(name, value))
    return checks.integer(name, value, 0, MOST)
