"""The arithmetic of rates, rarefaction and arrivals."""

import itertools
import math

import numpy as np
import pytest

from persia_tf.planning.arrivals import PowerLaw
from persia_tf.planning.counts import count_ids
from persia_tf.planning.rarefaction import seen_chances
from persia_tf.planning.rates import at_least, grid_of
from persia_tf.planning.simplex import minimize


def test_a_minimum_of_two_numbers_is_found():
    found = minimize(
        lambda x: (x[0] - 3) ** 2 + 10 * (x[1] + 1 - x[0]) ** 2, (0, 0), (1, 1)
    )
    np.testing.assert_allclose(found, [3, 2], atol=1e-2)


def test_ids_are_counted_once_per_lookup():
    counts = count_ids([np.array([7, 7, -2]), np.array([7]), np.array([], np.int64)])
    assert counts.ids.tolist() == [-2, 7]
    assert counts.in_lookups.tolist() == [1, 2]
    assert counts.looked_up == 4
    assert counts.lookups.arrivals().tolist() == [2, 0, 0]
    assert counts.lookups.arrivals(2).tolist() == [0, 1, 0]
    assert counts.parts.count == 3 * counts.parts_per_lookup


def test_a_chance_to_be_looked_up_is_that_of_the_binomial_distribution():
    rate, lookups = 0.3, 6
    chance = -math.expm1(-rate)
    for times in range(8):
        exact = sum(
            math.comb(lookups, n) * chance**n * (1 - chance) ** (lookups - n)
            for n in range(times, lookups + 1)
        )
        found = at_least(np.array(times), lookups, np.array(rate))
        assert float(found) == pytest.approx(exact, abs=1e-12)


def test_the_chances_of_a_grid_sum_to_1():
    grid = grid_of(50)
    total = grid.seen.sum(axis=0) + grid.unseen
    np.testing.assert_allclose(total, 1, atol=1e-9)


def test_rarefaction_is_the_mean_over_all_choices_of_lookups():
    lookups = [{1, 2}, {1}, {1, 3}, {2, 4}, {1, 2}]
    counts = count_ids([np.array(sorted(each)) for each in lookups])
    for times, drawn in itertools.product((1, 2), range(1, 6)):
        found = [
            sum(sum(i in each for each in chosen) >= times for i in counts.ids.tolist())
            for chosen in itertools.combinations(lookups, drawn)
        ]
        chances = seen_chances(counts.in_lookups, 5, times, drawn)
        assert chances.sum() == pytest.approx(np.mean(found))


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_arrivals_that_follow_a_power_are_continued(power):
    places = np.arange(1, 401)
    arrivals = 1000 * places**-power
    law = PowerLaw.fitted(arrivals[:100])
    assert law.until(400) == pytest.approx(arrivals[100:].sum(), rel=0.05)
