"""Predicted numbers of ids are those that the streams really have."""

import numpy as np
import pytest

from persia_tf.admission import BloomMinCount, MinCount, Probability
from persia_tf.planning.admission import admitted, filter_counters, waiting
from persia_tf.planning.counts import count_ids
from persia_tf.planning.growth import IN_ORDER, NONE, Growth
from persia_tf.planning.skew import skew_of


def grown(lookups, part=0.2):
    """The growth that a sample predicts, and the counts of the whole stream."""
    sampled = round(len(lookups) * part)
    return Growth(count_ids(lookups[:sampled]), len(lookups)), count_ids(lookups)


@pytest.mark.parametrize("exponent", [0, 0.7, 1.0, 1.3])
def test_a_stream_of_zipfs_law_is_predicted(exponent, draw):
    growth, whole = grown(draw(exponent, 40_000, 100, 600))
    found = growth.distinct()
    assert found.value == pytest.approx(len(whole.ids), rel=0.06)
    assert found.low <= len(whole.ids) <= found.high


@pytest.mark.parametrize("times", [2, 4])
def test_ids_that_come_again_are_predicted(times, draw):
    growth, whole = grown(draw(0.8, 20_000, 100, 600))
    wanted = int((whole.in_lookups >= times).sum())
    found = growth.looked_up(times)
    assert found.value == pytest.approx(wanted, rel=0.08)
    assert found.low <= wanted <= found.high


@pytest.mark.parametrize("exponent", [0.8, 1.0, 1.3])
@pytest.mark.parametrize("part", [0.05, 0.01, 0.002])
def test_intervals_of_small_samples_are_as_wide_as_they_must_be(exponent, part, draw):
    growth, whole = grown(draw(exponent, 40_000, 2500, 200), part)
    found = growth.distinct()
    assert found.low <= len(whole.ids) <= found.high
    # Wide, but not without a meaning.
    assert found.high < 20 * len(whole.ids)


def test_a_small_vocabulary_is_complete(draw):
    growth, _ = grown(draw(0, 50, 100, 600))
    assert growth.distinct().value == pytest.approx(50, abs=0.5)


def test_within_the_sample_nothing_is_extrapolated(draw):
    lookups = draw(0.9, 10_000, 40, 300)
    growth = Growth(count_ids(lookups), 40)
    assert growth.law == NONE
    assert growth.distinct().value == pytest.approx(len(np.unique(lookups)))
    half = growth.distinct(20)
    actual = len(np.unique(lookups[:20]))
    assert half.low <= actual <= half.high
    assert half.value < growth.distinct().value


def test_a_stream_whose_ids_change_is_continued_in_order():
    lookups = [np.arange(n * 50, n * 50 + 400) for n in range(200)]
    growth, whole = grown(lookups)
    assert growth.drift > 0
    assert growth.law == IN_ORDER
    assert growth.distinct().value == pytest.approx(len(whole.ids), rel=0.1)


def test_a_shuffled_stream_does_not_drift(draw):
    growth, _ = grown(draw(1.0, 20_000, 100, 600))
    assert growth.drift == 0


def test_the_same_sample_gives_the_same_numbers(draw):
    lookups = draw(0.9, 10_000, 50, 300)
    first, second = (grown(lookups)[0].distinct() for _ in range(2))
    assert first == second


def test_no_ids_stay_none():
    empty = [np.array([], np.int64)] * 4
    growth = Growth(count_ids(empty), 20)
    assert growth.distinct().value == 0
    assert growth.law == NONE
    assert skew_of(growth).exponent is None


def test_a_single_lookup_is_enough_for_a_wide_interval(draw):
    growth, whole = grown(draw(1.0, 5_000, 10, 500), part=0.1)
    found = growth.distinct()
    assert found.low <= len(whole.ids) <= found.high


def test_rules_admit_their_part_of_the_ids(draw):
    lookups = draw(0.8, 20_000, 100, 600)
    growth, whole = grown(lookups)
    twice = int((whole.in_lookups >= 2).sum())
    assert admitted(growth, None) == growth.distinct()
    assert admitted(growth, MinCount(1)).value == growth.distinct().value
    assert admitted(growth, MinCount(2)).value == pytest.approx(twice, rel=0.08)
    assert admitted(growth, MinCount(2), epochs=2).value == growth.distinct().value
    half = admitted(growth, Probability(0.5)).value
    assert half == pytest.approx(growth.distinct().value / 2)
    rest = len(whole.ids) - twice
    assert waiting(growth, MinCount(2)) == pytest.approx(rest, rel=0.2)
    assert waiting(growth, None) == 0


def test_a_full_filter_admits_ids_early(draw):
    growth, _ = grown(draw(0.8, 20_000, 100, 600))
    exactly = admitted(growth, MinCount(2)).value
    large = admitted(growth, BloomMinCount(2, expected_ids=100_000)).value
    small = admitted(growth, BloomMinCount(2, expected_ids=500)).value
    assert large == pytest.approx(exactly, rel=0.01)
    assert small > 1.2 * exactly
    assert filter_counters(BloomMinCount(2, 1_000_000)) == pytest.approx(9.585e6, 1e-3)


@pytest.mark.parametrize("exponent", [0.8, 1.2])
def test_the_exponent_of_zipfs_law_is_found(exponent, draw):
    growth, _ = grown(draw(exponent, 20_000, 200, 600))
    assert skew_of(growth).exponent == pytest.approx(exponent, abs=0.12)


def test_hit_rates_rise_to_that_of_all_known_ids(draw):
    growth, _ = grown(draw(1.1, 20_000, 100, 600))
    skew = skew_of(growth)
    rates = [rate for _, rate in skew.hit_rates]
    assert rates == sorted(rates)
    assert skew.hottest_permille < skew.hottest_percent < rates[-1] <= 1
    uniform, _ = grown(draw(0, 1_000, 100, 600))
    assert skew_of(uniform).hottest_percent == pytest.approx(0.01, abs=0.004)
