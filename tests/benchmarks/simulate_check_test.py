"""The table and the errors of the simulator's comparison with measurement."""

import pytest
from simulate_check import Case, Compared, table, worst_errors

LOOKUP = Case("lookup", shards=2, delay_ms=10.0, in_flight=4)
TRAIN = Case("train", shards=1, delay_ms=None)


def test_an_error_is_relative_to_what_was_measured():
    assert Compared(TRAIN, "per second", 50, 60).error == pytest.approx(0.2)
    assert Compared(TRAIN, "per second", 50, 40).error == pytest.approx(-0.2)


def test_the_worst_error_of_each_figure_has_no_sign():
    compared = [
        Compared(LOOKUP, "per second", 100, 110),
        Compared(LOOKUP, "per second", 100, 80),
        Compared(LOOKUP, "p99 ms", 10, 11),
        Compared(TRAIN, "per second", 10, 10),
    ]
    assert worst_errors(compared) == pytest.approx(
        {
            ("lookup", "per second"): 0.2,
            ("lookup", "p99 ms"): 0.1,
            ("train", "per second"): 0.0,
        }
    )


def test_the_table_has_a_row_for_each_figure():
    text = table([Compared(LOOKUP, "p99 ms", 25.04, 24.0)])
    *_, row = text.splitlines()
    assert row == "| lookup | 2 | 10 ms | 4 | p99 ms | 25.04 | 24 | -4.2% |"
    assert "| train | 1 | none |" in table([Compared(TRAIN, "per second", 1, 1)])
