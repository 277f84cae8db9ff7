"""Simulations whose times can be computed by hand."""

import dataclasses

import pytest

from persia_tf.simulation.costs import Work
from persia_tf.simulation.messages import LOOKUP, sizes_of
from persia_tf.simulation.setup import Setup
from persia_tf.simulation.simulate import simulate, simulate_calls

# One client and one shard; each thread has a core.
ONE = Setup(tables=2, ids=1000.0, rows=1000.0, dim=4, cores=16)


def lookup(setup, costs, **how):
    return simulate_calls(
        "lookup", setup, costs=costs, **{"calls": 5, "warm_up": 1, **how}
    )


def test_a_call_takes_the_sum_of_its_parts(free, charge):
    costs = charge(
        free,
        caller=Work(call=1e-3, request=2e-3, table=3e-3, row=4e-6),
        io=Work(request=5e-3, byte=6e-8),
        shard=Work(request=7e-3, table=8e-3, row=9e-6),
    )
    caller = 1e-3 + 2e-3 + 2 * 3e-3 + 1000 * 4e-6
    io = 5e-3 + 16_000 * 6e-8
    shard = 7e-3 + 2 * 8e-3 + 1000 * 9e-6
    assert lookup(ONE, costs).p50 == pytest.approx(caller + io + shard)
    assert lookup(ONE, costs).per_second == pytest.approx(1 / (caller + io + shard))


def test_a_delay_is_waited_for_twice(free, charge):
    costs = charge(free, shard=Work(request=1e-3))
    for delay in (0.01, 0.02):
        setup = dataclasses.replace(ONE, delay_seconds=delay)
        assert lookup(setup, costs).p50 == pytest.approx(1e-3 + 2 * delay)


def test_rows_are_divided_among_shards_which_work_beside_each_other(free, charge):
    costs = charge(free, shard=Work(row=1e-5))
    setup = dataclasses.replace(ONE, shards=4)
    assert lookup(setup, costs).p50 == pytest.approx(1000 * 1e-5 / 4)
    busy = dataclasses.replace(setup, busiest=2.0)
    assert lookup(busy, costs).p50 == pytest.approx(1000 * 1e-5 / 2)
    slow = dataclasses.replace(setup, slowest=3.0)
    assert lookup(slow, costs).p50 == pytest.approx(3 * 1000 * 1e-5 / 4)


def test_requests_of_one_connection_wait_for_each_other(free, charge):
    costs = charge(free, shard=Work(request=1e-3))
    assert lookup(ONE, costs, in_flight=4).p50 == pytest.approx(4e-3)
    assert lookup(ONE, costs, in_flight=4).per_second == pytest.approx(1000)


def test_the_network_limits_the_throughput(free):
    setup = dataclasses.replace(
        ONE, same_machine=False, network_bytes_per_second=1e6, delay_seconds=1e-4
    )
    reply = sizes_of(LOOKUP, setup, 1000).reply
    found = lookup(setup, free, in_flight=8, calls=20)
    assert found.per_second == pytest.approx(1e6 / reply)
    assert found.busy["network out of shards"] == pytest.approx(1)
    assert found.bottleneck.startswith("network")


@pytest.mark.parametrize("staleness", [0, 1, 3, 4, 8])
def test_as_many_steps_as_the_staleness_hide_what_a_step_waits_for(free, staleness):
    # Of a step, the dense part is alone; a lookup and an update wait for two messages
    # each. One more step than the staleness may be on its way.
    dense = delay = 0.01
    setup = dataclasses.replace(
        ONE,
        staleness=staleness,
        dense_seconds=dense,
        dense_cores=0,
        delay_seconds=delay,
    )
    found = simulate(setup, costs=free, steps=36, warm_up=18)
    expected = max(dense, (dense + 4 * delay) / (staleness + 1))
    assert 1 / found.per_second == pytest.approx(expected, rel=0.02)
    assert found.lookup_p99 == pytest.approx(2 * delay)
    assert found.update_p99 == pytest.approx(2 * delay)


def test_trainers_wait_for_their_all_reduce(free):
    setup = dataclasses.replace(
        ONE,
        trainers=4,
        same_machine=False,
        network_bytes_per_second=1e9,
        dense_seconds=0.01,
        dense_cores=0,
        dense_bytes=8e6,
    )
    found = simulate(setup, costs=free, steps=20, warm_up=10)
    ring = 2 * 3 * (8e6 / 4 / 1e9)
    assert 1 / found.per_second == pytest.approx(0.01 + ring)


def test_rows_that_are_not_in_memory_are_read(free):
    costs = dataclasses.replace(free, read_seconds=1e-3, reads_per_second=1e5)
    setup = dataclasses.replace(ONE, in_memory=0.9)
    assert lookup(setup, costs).p50 == pytest.approx(1e-3 + 100 / 1e5)


def test_an_unknown_kind_of_call_is_refused():
    with pytest.raises(ValueError, match="`kind` must be"):
        simulate_calls("remove", ONE)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"trainers": 0}, "`trainers` must be at least 1. Received: trainers=0"),
        ({"busiest": 0.5}, "`busiest` must be at least 1. Received: busiest=0.5"),
        ({"cores": float("nan")}, "`cores` must be at least 1"),
        ({"in_memory": 1.5}, "`in_memory` must be at most 1"),
        ({"ids": 1, "rows": 2}, "`rows` must be at most `ids`"),
        ({"proxies": True, "same_machine": False}, "`proxies` must be False unless"),
    ],
)
def test_a_set_up_that_cannot_be_is_refused(values, told):
    with pytest.raises(ValueError) as refused:
        Setup(**values)
    assert told in str(refused.value)
