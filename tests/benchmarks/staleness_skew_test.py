"""What staleness_skew.py trains on, predicts and writes."""

import json
import math

import numpy as np
import pytest
import staleness_bound
import staleness_data
import staleness_report
import staleness_skew
from staleness_bound import Interval, Point
from staleness_training import CLICKS, OPTIMIZERS, Case


def test_frequencies_follow_the_law():
    np.testing.assert_allclose(staleness_data.frequencies(0, 4), [0.25] * 4)
    zipf = staleness_data.frequencies(1.5, 100)
    assert zipf.sum() == pytest.approx(1)
    np.testing.assert_allclose(zipf[0] / zipf[[1, 9]], [2**1.5, 10**1.5])


@pytest.mark.parametrize("exponent", [0, 0.8, 1.5])
def test_drawn_ids_have_the_skew(exponent):
    train, test = staleness_data.click_tables(exponent, 40_000, 10_000, seed=3, ids=50)
    assert (len(train), len(test)) == (40_000, 10_000)
    expected = staleness_data.frequencies(exponent, 50)
    for feature, column in enumerate(train.features["ids"].T):
        counts = np.bincount(column, minlength=1 + 50 * staleness_data.FEATURES)
        own = counts[1 + 50 * feature :][:50]
        assert own.sum() == len(train)
        np.testing.assert_allclose(own / len(train), expected, atol=0.006)
    found = staleness_data.id_frequencies(train)
    assert len(found) == staleness_data.FEATURES
    assert max(map(np.max, found)) == pytest.approx(expected[0], abs=0.006)


def test_a_seed_determines_the_rows():
    drawn = [staleness_data.click_tables(1, 64, 64, seed)[0] for seed in (1, 1, 2)]
    ids = [table.features["ids"] for table in drawn]
    np.testing.assert_array_equal(ids[0], ids[1])
    np.testing.assert_array_equal(drawn[0].labels, drawn[1].labels)
    assert (ids[0] != ids[2]).any()


def test_the_truth_is_the_best_possible():
    _, test = staleness_data.click_tables(1, 8, 20_000, seed=0)
    best = staleness_data.best_possible(test)
    assert 0.7 < best["best_auc"] < 0.9
    truth = test.probabilities
    for other in (truth**1.1, np.full(len(test), truth.mean()), 1 - truth):
        assert staleness_data.loss_of(test, other) > best["best_loss"]
    # The labels that were drawn are not part of this loss.
    again = staleness_data.loss_of(
        staleness_data.Table(test.features, 1 - test.labels, truth), truth
    )
    assert again == best["best_loss"]


def test_without_the_truth_the_loss_is_that_of_the_labels():
    table = staleness_data.Table({}, np.array([1, 0], np.float32))
    chances = np.array([0.5, 0.2])
    expected = -(math.log(0.5) + math.log(0.8)) / 2
    assert staleness_data.loss_of(table, chances) == pytest.approx(expected)
    assert staleness_data.best_possible(table) == {}


def test_padding_is_no_frequent_id():
    ids = np.array([[7, 0, 0], [7, 8, 0], [9, 0, 0], [5, 0, 0]])
    table = staleness_data.Table({"ids": ids, "n": np.ones((4, 1))}, np.zeros(4))
    first, second, third = staleness_data.id_frequencies(table)
    np.testing.assert_array_equal(first, [0.25, 0.5, 0.25])
    np.testing.assert_array_equal(second, [0.25])
    assert not third.size


def test_the_readings_of_alpha():
    columns = [np.array([0.5, 0.5]), np.array([0.25] * 4), np.array([])]
    assert staleness_bound.alphas(columns, 2) == pytest.approx(
        {
            "batch": 0.75,
            "example": 0.5,
            "typical": (0.75 + 0.4375) / 2,
            "none": 1,
        }
    )


def test_chance_in_a_batch():
    assert staleness_bound.chance_in_batch(0.5, 3) == 0.875
    assert staleness_bound.chance_in_batch(1, 8) == 1


def test_the_bound_is_linear_in_staleness_and_in_frequency():
    assert staleness_bound.predicted(0, 0.5, 100) == 0
    one = staleness_bound.predicted(4, 0.1, 100, 3)
    assert one == pytest.approx(0.012)
    assert staleness_bound.predicted(8, 0.1, 100, 3) == pytest.approx(2 * one)
    assert staleness_bound.predicted(4, 0.2, 100, 3) == pytest.approx(2 * one)
    assert staleness_bound.predicted(4, 0.1, 200, 3) == pytest.approx(one / 2)


def points(cost):
    shapes = [(s, a, 100) for s in (1, 16, 256) for a in (0.01, 0.5)]
    return [Point(*shape, cost(staleness_bound.predicted(*shape))) for shape in shapes]


def test_a_fit_to_the_shape_itself_finds_the_constant():
    fit = staleness_bound.fit(points(lambda shape: 7 * shape))
    assert fit.constant == pytest.approx(7)
    assert fit.slope == pytest.approx(1)
    assert fit.correlation == pytest.approx(1)
    assert fit.factor == pytest.approx(1)
    assert fit.near == 1


def test_a_fit_tells_another_shape():
    fit = staleness_bound.fit(points(lambda shape: 7 * shape**0.5))
    assert fit.slope == pytest.approx(0.5)
    assert fit.correlation == pytest.approx(1)
    assert fit.factor > 2
    assert fit.near < 1


def test_a_fit_to_one_cost_has_no_slope():
    fit = staleness_bound.fit(points(lambda shape: shape)[:1])
    assert (fit.slope, fit.correlation) == (None, None)
    assert fit.constant == pytest.approx(1)
    assert staleness_bound.fit([]) is None


def test_the_interval_is_of_students_distribution():
    interval = staleness_bound.interval([1.0, 2.0, 3.0])
    assert interval.mean == 2
    assert interval.half_width == pytest.approx(4.303 / math.sqrt(3))
    assert not interval.is_positive
    assert Interval(3.0, 2.5).is_positive
    assert staleness_bound.interval([1.0]) == Interval(1.0, None)


def runs(exponent, costs):
    """Returns the figures of two seeds, whose losses have these costs by staleness."""
    return {
        Case(CLICKS, exponent, "sgd", staleness, seed): {
            "loss": 0.5 + seed / 10 + cost + 0.0001 * (seed if staleness else 0),
            "auc": 0.8 - cost,
            "best_loss": 0.4,
            "best_auc": 0.85,
            "alphas": {"batch": 0.19, "example": 0.1, "typical": 0.05, "none": 1.0},
            "steps": 1000,
            "batch": 2,
            "rows": [2000, 10],
        }
        for seed in (0, 1)
        for staleness, cost in {0: 0.0, **costs}.items()
    }


def figures():
    groups = [
        staleness_skew.summary(runs(0.0, {4: 0.0, 64: 0.002})),
        staleness_skew.summary(runs(1.5, {4: 0.004, 64: 0.064})),
    ]
    return {"groups": groups, "fits": staleness_skew.fits(groups)}


def test_costs_are_differences_from_the_same_seed():
    group = staleness_skew.summary(runs(1.5, {4: 0.004}))
    [cost] = group["costs"]
    assert cost["loss_of_each_seed"] == pytest.approx([0.004, 0.0041])
    assert cost["auc"]["mean"] == pytest.approx(-0.004)
    assert group["alphas"]["typical"] == pytest.approx(0.05)
    assert group["seeds"] == 2


def test_costs_that_may_be_noise_are_not_fitted():
    fit = figures()["fits"]["sgd"]["batch"]
    assert (fit["points"], fit["unresolved"]) == (3, 1)
    assert fit["skews"]["1.5"]["slope"] == pytest.approx(1, abs=0.01)
    assert fit["skews"]["1.5"]["over_predicted"] > 1
    assert fit["skews"]["0.0"]["over_predicted"] < 1
    assert "adagrad" not in figures()["fits"]


def test_figures_can_be_written_as_json():
    assert json.loads(json.dumps(figures(), allow_nan=False))["groups"]


SETUP = {
    "optimizers": {"sgd": vars(OPTIMIZERS["sgd"])},
    "seeds": 2,
    "versions": {"keras": "3"},
}


def test_the_report_has_a_line_for_each_skew():
    text = staleness_report.text(figures(), SETUP)
    assert "| clicks | uniform | SGD | +0.05 ± 0.64 | +2.05 ± 0.64 |" in text
    assert "| clicks | Zipf 1.5 | SGD | +4.05 ± 0.64 | +64.05 ± 0.64 |" in text
    assert "| clicks | Zipf 1.5 | SGD | 0.1 | 0.19 | 0.05 | 2 | 1000 | 2 | 0.55" in text
    assert "keras 3" in text


def test_the_plot_has_a_line_for_each_skew():
    svg = staleness_report.plot(figures())
    assert svg.count(">Zipf 1.5</text>") == svg.count(">uniform</text>") == 2
    # Two panels of three costs each.
    assert svg.count("<circle") == 6


def test_a_plot_without_costs_is_empty():
    svg = staleness_report.plot({"groups": [], "fits": {}})
    assert "<circle" not in svg
