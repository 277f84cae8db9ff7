"""Parses whole numbers of the command line."""

from __future__ import annotations


def parse(text: str) -> int:
    """Returns the integer in a text such as `"100000"`, `"100_000"` or `"1e5"`.

    Raises:
        ValueError: if the text is no number, or not a whole one.
    """
    try:
        return int(text)
    except ValueError:
        number = float(text)
    if not number.is_integer():
        raise ValueError(f"must be a whole number, got {text}")
    return int(number)
