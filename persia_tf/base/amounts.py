"""Shows numbers of bytes and of other things with three digits."""

from __future__ import annotations

from collections.abc import Sequence

_BYTES = (" B", " kB", " MB", " GB", " TB", " PB")
_BINARY = ("", "", " MiB", " GiB", " TiB")
_COUNTS = ("", "k", "M", "G", "T")


def size_text(size: float) -> str:
    """Returns a number of bytes with three digits and a unit, in powers of 1000."""
    return _with_unit(size, _BYTES)


def given_size_text(size: float) -> str:
    """Returns a number of bytes as `size_text`, and in powers of 1024 if it is a round
    one of these, as somebody has given it: "64 GiB (68.7 GB)".
    """
    decimal = size_text(size)
    for power in (4, 3, 2):
        if size and size % 1024**power == 0:
            return f"{size / 1024**power:g}{_BINARY[power]} ({decimal})"
    return decimal


def count_text(count: float) -> str:
    """Returns a number with three digits, in thousands or powers of them."""
    return _with_unit(count, _COUNTS)


def _with_unit(number: float, units: Sequence[str]) -> str:
    for unit in units:
        if number < 999.5 or unit == units[-1]:
            break
        number /= 1000
    return f"{number:.3g}{unit}"
