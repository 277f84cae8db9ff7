"""What is computed from the measured processor times of calls."""

import dataclasses
import sys

import cost_bench
import cost_calls
import pytest
from cost_fits import fit, worst_error

from persia_tf.simulation.costs import measured_costs

TERMS = [
    {"call": 1, "row": 10},
    {"call": 1, "row": 1000},
    {"call": 1, "row": 20_000},
]


def measured(caller, io, server, rows, p50=0.01):
    return cost_calls.Measured(
        calls=100,
        rows=rows,
        per_second=50,
        quantiles=(0.5 * p50, p50, 3 * p50),
        caller=caller,
        io=io,
        servers=(server,),
    )


def test_a_fit_finds_what_each_thing_takes():
    seconds = [2e-5 + 3e-8 * each["row"] for each in TERMS]
    takes = fit(TERMS, seconds)
    assert takes == pytest.approx({"call": 2e-5, "row": 3e-8}, rel=1e-3)
    assert worst_error(TERMS, seconds, takes) < 1e-3


def test_nothing_takes_less_than_no_time():
    seconds = [1e-3, 0.9e-3, 0.8e-3]  # More rows took less.
    takes = fit(TERMS, seconds)
    assert takes["row"] == 0
    assert 0.8e-3 < takes["call"] < 1e-3


def test_small_and_large_measurements_weigh_the_same():
    # The row of the largest call took twice as long as the others.
    seconds = [1e-8 * each["row"] for each in TERMS]
    seconds[-1] *= 2
    takes = fit([{"row": each["row"]} for each in TERMS], seconds)
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
    errors = {}
    costs = cost_bench._call_costs(cost_bench.LOOKUP, found, errors)
    terms = cost_bench._terms(cost_bench.BASE, 20_000).values()
    assert costs.shard.seconds(*terms) == pytest.approx(1e-3, rel=0.01)
    assert costs.io.seconds(*terms) == pytest.approx(4e-4, rel=0.01)
    assert costs.shard.call == costs.io.call == 0
    assert costs.spread == (0.5, 1.0, 3.0)
    assert max(errors.values()) < 0.01


def test_the_median_of_several_rounds_is_of_each_quantile():
    rounds = [measured(1, 2, 3, 10, p50) for p50 in (0.01, 0.02, 0.09)]
    joined = cost_calls.joined(rounds)
    assert joined.quantiles == pytest.approx((0.01, 0.02, 0.06))
    assert joined.p50 == pytest.approx(0.02)
    assert joined.calls == 300
    assert joined.total == 6


def test_points_have_one_base():
    assert cost_bench.BASE in cost_bench._POINTS
    assert dataclasses.replace(cost_bench.BASE, batch=8) == cost_bench.SMALL
    assert len(set(cost_bench._POINTS)) == len(cost_bench._POINTS)


def test_the_speed_of_the_machine_is_stored(monkeypatch, tmp_path):
    output = tmp_path / "constants.json"
    monkeypatch.setattr(sys, "argv", ["cost_bench.py", f"--output={output}"])
    monkeypatch.setattr(cost_bench, "measure", lambda _: (measured_costs(), {}))
    monkeypatch.setattr(cost_bench, "speed_seconds", lambda: 0.1234567)
    cost_bench.main()
    assert measured_costs(output).measured["speed_seconds"] == 0.12346
