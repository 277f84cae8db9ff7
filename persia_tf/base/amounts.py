"""Shows numbers of bytes and of other things with three digits."""

from __future__ import annotations

from collections.abc import Sequence

_BYTES = (" B", " kB", " MB", " GB", " TB", " PB")
_BINARY = {" TiB": 2**40, " GiB": 2**30, " MiB": 2**20}
_COUNTS = ("", "k", "M", "G", "T")


def size_text(size: float) -> str:
    """Returns a number of bytes with three digits and a unit, in powers of 1000."""
    return _with_unit(size, _BYTES)


def given_size_text(size: float) -> str:
    """Returns a size as somebody may have given it: "64 GiB (68.7 GB)", or "12 TB"."""
    decimal = size_text(size)
    for unit, unit_size in _BINARY.items():
        if size and size % unit_size == 0:
            return f"{size / unit_size:g}{unit} ({decimal})"
    return decimal


def count_text(count: float) -> str:
    """Returns a number with three digits, in thousands or powers of them."""
    return _with_unit(count, _COUNTS)


def counted_text(count: int, noun: str) -> str:
    """Returns a number of things, such as "1 shard" or "1,024 shards"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _with_unit(number: float, units: Sequence[str]) -> str:
    for unit in units:
        if number < 999.5 or unit == units[-1]:
            break
        number /= 1000
    return f"{number:.3g}{unit}"
