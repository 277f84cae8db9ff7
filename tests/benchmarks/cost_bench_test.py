"""What is computed from the measured processor times of calls."""

import dataclasses
import math
import statistics

import cost_bench
import cost_calls
import numpy as np
import pytest
from cost_fits import fit

from persia_tf.simulation.costs import measured_costs

TERMS = [
    {"call": 1, "row": 10},
    {"call": 1, "row": 1000},
    {"call": 1, "row": 20_000},
]


def measured(caller, io, server, rows, windows=((0.01, 0.02, 0.04),)):
    return cost_calls.Measured(
        rows=rows,
        in_flight=1,
        windows=windows,
        caller=caller,
        io=io,
        servers=(server,),
    )


def test_a_fit_finds_what_each_thing_takes():
    seconds = [2e-5 + 3e-8 * each["row"] for each in TERMS]
    found = fit(TERMS, seconds)
    assert found.takes == pytest.approx({"call": 2e-5, "row": 3e-8}, rel=1e-3)
    assert found.worst_error < 1e-3


def test_nothing_takes_less_than_no_time():
    seconds = [1e-3, 0.9e-3, 0.8e-3]  # More rows took less.
    takes = fit(TERMS, seconds).takes
    assert takes["row"] == 0
    assert 0.8e-3 < takes["call"] < 1e-3


def test_small_and_large_measurements_weigh_the_same():
    # The row of the largest call took twice as long as the others.
    seconds = [1e-8 * each["row"] for each in TERMS]
    seconds[-1] *= 2
    takes = fit([{"row": each["row"]} for each in TERMS], seconds).takes
    assert 1e-8 < takes["row"] < 1.5e-8


def test_calls_cost_what_their_threads_took():
    found = {
        point: {
            kind: measured(
                caller=1e-5 + 1e-8 * rows, io=2e-8 * rows, server=5e-8 * rows, rows=rows
            )
            for kind in cost_bench.KINDS
        }
        for point, rows in ((cost_bench.BASE, 20_000), (cost_bench.SMALL, 50))
    }
    kind = cost_bench.LOOKUP
    works = cost_bench._works(kind, found, 1.0)
    costs = cost_bench._call_costs(found[cost_bench.BASE][kind], works)
    terms = cost_bench._work_terms(cost_bench.BASE, 20_000)
    assert costs.shard.seconds(*terms) == pytest.approx(1e-3, rel=0.01)
    assert costs.io.seconds(*terms) == pytest.approx(4e-4, rel=0.01)
    assert costs.shard.call == costs.io.call == 0
    # Neither the fastest nor the slowest call of all, which take 0.5 and 2.0.
    assert len(costs.spread) == 101
    assert costs.spread[::50] == pytest.approx((0.505, 1.0, 1.99), abs=1e-3)
    assert max(each.worst_error for each in works.values()) < 0.01


def test_slow_times_are_found_again():
    """Of a part of a variance that halves in so many calls."""
    random = np.random.default_rng(0)
    part, kept = 0.8, 0.5 ** (1 / 8)
    slow, seconds = 0.0, []
    for _ in range(20_000):
        slow = kept * slow + math.sqrt(1 - kept * kept) * random.standard_normal()
        now = math.sqrt(part) * slow + math.sqrt(1 - part) * random.standard_normal()
        seconds.append(0.01 * math.exp(0.1 * now))
    windows = tuple(map(tuple, np.reshape(seconds, (200, 100)).tolist()))
    found = cost_bench._slow_times(measured(1, 2, 3, 10, windows))
    assert found["slow_part"] == pytest.approx(part, rel=0.05)
    expected = statistics.mean(seconds) * 8 / math.log(2)
    assert found["slow_seconds"] == pytest.approx(expected, rel=0.15)


def test_calls_that_are_not_alike_have_no_slow_times():
    windows = ((0.01, 0.03) * 50,)
    assert cost_bench._slow_times(measured(1, 2, 3, 10, windows)) == {
        "slow_part": 0.0,
        "slow_seconds": 0.0,
    }


def test_several_rounds_are_joined():
    rounds = [measured(1, 2, 3, 10, ((0.01,) * 3,)), measured(5, 2, 3, 10, ((0.05,),))]
    joined = cost_calls.joined(rounds)
    assert joined.calls == 4
    assert joined.per_second == pytest.approx(50)
    assert joined.quantile(0.5) == pytest.approx(0.01)
    assert joined.total == pytest.approx(7)


def test_points_have_one_base():
    assert cost_bench.BASE in cost_bench._POINTS
    assert dataclasses.replace(cost_bench.BASE, batch=8) == cost_bench.SMALL
    assert len(set(cost_bench._POINTS)) == len(cost_bench._POINTS)


def test_the_speed_of_the_machine_is_stored(monkeypatch):
    monkeypatch.setattr(cost_bench, "speed_seconds", lambda: 0.125)
    facts = cost_bench._facts(0.5, {})
    assert facts["speed_seconds"] == 0.125
    assert "speed_seconds" in measured_costs().measured
