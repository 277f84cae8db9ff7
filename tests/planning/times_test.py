"""Times of steps and runs, simulated with costs that are given here."""

import dataclasses

import pytest

from persia_tf.planning.estimate import Estimate
from persia_tf.planning.machine import Machine
from persia_tf.planning.own_part import own_part
from persia_tf.planning.parts import ShardsPlan
from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.planning.time_options import Prices
from persia_tf.planning.time_parts import RunTimes
from persia_tf.planning.times import TimesOfShards
from persia_tf.simulation.costs import CallCosts, Costs, Work

OWN = TimedSteps(seconds=0.02, cores=1.0)
CORES = 2
NONE = Work()
CALL = CallCosts(
    caller=Work(call=1e-4),
    io=Work(request=5e-5),
    shard=Work(row=5e-7),
    worker=NONE,
    overlap=0.0,
    spread=(1.0, 1.0),
)
COSTS = Costs(
    lookup=CALL,
    update=CALL,
    trainer=NONE,
    wake_seconds=0.0,
    cold_seconds=0.0,
    crowded_speed=1.0,
    balance=1.0,
    proxy_request=0.0,
    proxy_byte=0.0,
    row_index_bytes=0.0,
    checkpoint_bytes_per_second=1e8,
    restore_bytes_per_second=1e8,
    read_seconds=0.0,
    reads_per_second=1.0,
    measured={},
)
LOAD = StepLoad(
    examples=100, tables=2, layers=2, ids=2_000, rows=1_000, dim=8, dense_bytes=10**6
)
RUN = RunTimes(
    is_measured=False,
    staleness=0,
    same_machine=False,
    latency=0.0,
    network_gbits=1_000.0,
    target_rate=None,
    prices=None,
    speed=None,
)


def shards(number=1, **changes):
    size = Estimate.exact(1e9)
    traffic = {
        name: 1.0
        for name in ("lookup_requests", "update_requests", "bytes_out", "bytes_in")
        + ("lookup_bytes", "update_bytes", "busiest_rows", "busiest_ids")
        + ("busiest_bytes",)
    }
    memory = {"bytes": size, "busiest_shard_bytes": size, "checkpoint_bytes": size}
    return ShardsPlan(number, **{**traffic, **memory, "fits": None, **changes})


def times(number=1, run_steps=1_000, **changes):
    run = dataclasses.replace(RUN, **changes)
    return TimesOfShards(LOAD, run, run_steps, COSTS, CORES).of(shards(number), OWN)


def test_a_synchronous_step_waits_for_its_lookup_and_its_update():
    found = times()
    # Each call: the caller, the client's I/O thread, and the shard's for all rows.
    calls = 2 * (1e-4 + 5e-5 + 5e-4)
    assert found.step_seconds == pytest.approx(OWN.seconds + calls, rel=0.02)
    assert found.examples_per_second == pytest.approx(100 / found.step_seconds)


def test_a_stale_step_takes_as_long_as_the_model():
    assert times(staleness=4).step_seconds == pytest.approx(OWN.seconds, rel=0.01)


def test_a_latency_is_waited_for_in_both_directions():
    delayed = times(latency=0.01).step_seconds
    assert delayed == pytest.approx(times().step_seconds + 4 * 0.01, rel=0.01)


def test_enough_staleness_hides_a_latency():
    found = times(latency=0.05)
    assert times().hiding_staleness == 0
    # From its lookup until its update is acknowledged, a step takes 0.22 s.
    assert 9 <= found.hiding_staleness <= 12
    enough = times(latency=0.05, staleness=found.hiding_staleness)
    assert enough.step_seconds <= 1.06 * OWN.seconds
    less = times(latency=0.05, staleness=found.hiding_staleness - 1)
    assert less.step_seconds > 1.04 * OWN.seconds


def test_no_staleness_hides_a_latency_of_many_steps():
    assert times(latency=2.0).hiding_staleness is None


def test_a_checkpoint_takes_what_the_busiest_shard_writes():
    found = TimesOfShards(LOAD, RUN, 1_000, COSTS, CORES).of(
        shards(4, busiest_rows=1.2), OWN
    )
    assert found.checkpoint_seconds == pytest.approx(1e9 / 4 * 1.2 / 1e8)


def test_without_a_target_one_trainer_trains():
    found = times(run_steps=500)
    assert found.trainers == 1
    assert found.rate == pytest.approx(found.examples_per_second)
    assert found.run_seconds == pytest.approx(500 * found.step_seconds)
    assert found.cost is None


def test_more_trainers_reach_a_target():
    one = times(staleness=4)
    found = times(staleness=4, target_rate=2.5 * one.rate)
    assert found.trainers == 3
    assert 2.5 * one.rate <= found.rate <= 3 * one.rate
    assert found.run_seconds < one.run_seconds / 2.5
    assert found.step_seconds == one.step_seconds


def test_the_all_reduce_of_trainers_has_not_the_latency_of_shards():
    target = {"staleness": 64, "target_rate": 150 / OWN.seconds}
    near, far = times(8, **target), times(8, latency=OWN.seconds, **target)
    assert (near.trainers, far.trainers) == (2, 2)
    assert far.rate == pytest.approx(near.rate, rel=0.05)


def test_few_shards_are_too_few_for_many_trainers():
    one = times(staleness=4)
    target = {"staleness": 4, "target_rate": 40 * one.rate}
    few, many = times(1, **target), times(8, **target)
    assert (few.trainers, few.rate, few.run_seconds, few.cost) == (None,) * 4
    assert 40 <= many.trainers <= 45


def test_trainers_and_shards_have_their_prices():
    prices = Prices(trainer=3.0, shard=0.5)
    found = times(2, prices=prices, target_rate=150 / OWN.seconds)
    assert found.trainers == 2
    per_hour = 2 * 3.0 + 2 * 0.5
    assert found.cost == pytest.approx(per_hour * found.run_seconds / 3600)


def test_the_own_part_is_told():
    assert times().own_step_seconds == OWN.seconds
    assert times().own_step_cores == OWN.cores


def test_the_own_part_is_what_requests_do_not_explain():
    run = dataclasses.replace(RUN, same_machine=True)
    for number in (1, 3):
        of = TimesOfShards(LOAD, run, 1_000, COSTS, CORES).of(shards(number), OWN)
        # Its processor time: the own part, and what the client needs.
        client = 2 * (1e-4 + number * 5e-5)
        busy = OWN.seconds * OWN.cores + client
        timed = TimedSteps(of.step_seconds, busy / of.step_seconds)
        own = own_part(timed, LOAD, shards(number), COSTS, Machine(CORES, False))
        assert own.seconds == pytest.approx(OWN.seconds, rel=0.01)
        assert own.cores == pytest.approx(OWN.cores, rel=0.01)


def test_something_is_left_if_costs_are_far_off():
    timed = TimedSteps(1e-5, 1.0)
    own = own_part(timed, LOAD, shards(), COSTS, Machine(CORES, False))
    assert own.seconds == pytest.approx(0.05 * 1e-5, rel=0.01)


def test_an_accelerator_needs_no_core():
    timed = TimedSteps(0.02, 0.5)
    own = own_part(timed, LOAD, shards(), COSTS, Machine(CORES, True))
    assert own.cores == 0
    assert 0.015 < own.seconds < 0.02


def test_a_given_set_up_gives_the_same_times():
    assert times(3, latency=0.01) == times(3, latency=0.01)
