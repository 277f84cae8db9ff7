"""A bound between two numbers is found by halving."""

import pytest

from persia_tf.simulation.bisection import bisected


def test_a_bound_is_found_between_two_numbers():
    assert bisected(1.0, 3.0, lambda number: number < 2.3) == pytest.approx(2.3, 1e-3)
    assert bisected(1.0, 3.0, lambda _: True) == pytest.approx(3.0, 1e-3)
