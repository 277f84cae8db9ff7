"""Shows numbers of bytes and of other things with three digits."""

from __future__ import annotations

from collections.abc import Sequence

_BYTES = (" B", " kB", " MB", " GB", " TB", " PB")
_COUNTS = ("", "k", "M", "G", "T")


def size_text(size: float) -> str:
    """Returns a number of bytes with three digits and a unit, in powers of 1000."""
    return _with_unit(size, _BYTES)


def count_text(count: float) -> str:
    """Returns a number with three digits, in thousands or powers of them."""
    return _with_unit(count, _COUNTS)


def _with_unit(number: float, units: Sequence[str]) -> str:
    for unit in units:
        if number < 999.5 or unit == units[-1]:
            break
        number /= 1000
    return f"{number:.3g}{unit}"
