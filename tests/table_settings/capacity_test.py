"""Capacities in the form that the core takes."""

import numpy as np
import pytest

from persia_tf.table_settings import capacity


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, "unlimited"),
        (1, "rows(count=1.0)"),
        (10_000_000, "rows(count=10000000.0)"),
        (10**18, "rows(count=1e+18)"),
        ("1B", "bytes(count=1.0)"),
        ("2kB", "bytes(count=2000.0)"),
        ("500MB", "bytes(count=500000000.0)"),
        ("1.5GB", "bytes(count=1500000000.0)"),
        ("3TB", "bytes(count=3000000000000.0)"),
        ("2KiB", "bytes(count=2048.0)"),
        (" 1 MiB ", "bytes(count=1048576.0)"),
        ("64GiB", "bytes(count=68719476736.0)"),
        ("0.5tib", "bytes(count=549755813888.0)"),
    ],
)
def test_rows_and_bytes(given, text):
    assert capacity.spec(given) == text


@pytest.mark.parametrize("given", [0, -1, 10**18 + 1, 10**19, 10**400])
def test_rows_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=f"`capacity`.*1 to 1e18 rows.*={given}$"):
        capacity.get(given)


@pytest.mark.parametrize("given", ["0GB", "0.5B", "2000000TB", "9" * 400 + "GB"])
def test_bytes_out_of_range_are_refused(given):
    with pytest.raises(ValueError, match=f"`capacity`.*1 to 1e18 bytes.*='{given}'$"):
        capacity.get(given)


def test_an_integer_of_numpy_is_taken_as_an_int():
    assert type(capacity.get(np.int32(7))) is int
    assert capacity.spec(np.int32(7)) == "rows(count=7.0)"


@pytest.mark.parametrize("given", ["", "64", "-1GB", "GB", "1e9B", "64 gigs", "1iB"])
def test_what_is_no_size_is_refused_with_the_units(given):
    with pytest.raises(ValueError, match=f"`capacity`.*GiB.*capacity='{given}'"):
        capacity.get(given)


@pytest.mark.parametrize("given", [1.5, True, b"1GB", [1]])
def test_what_is_neither_rows_nor_bytes_is_refused(given):
    with pytest.raises(TypeError, match="`capacity` must be a number of rows"):
        capacity.get(given)
