"""Costs at the speed of this machine."""

import dataclasses

import pytest

from persia_tf.simulation import speed
from persia_tf.simulation.costs import measured_costs


@pytest.fixture
def costs():
    return dataclasses.replace(measured_costs(), measured={"speed_seconds": 0.02})


def test_work_takes_longer_on_a_slower_machine(costs):
    slower = speed.at_speed(costs, 0.05)
    assert slower.lookup.shard.row == pytest.approx(2.5 * costs.lookup.shard.row)
    assert slower.update.io.request == pytest.approx(2.5 * costs.update.io.request)
    assert slower.trainer.call == pytest.approx(2.5 * costs.trainer.call)


def test_what_is_no_work_is_the_same(costs):
    slower = speed.at_speed(costs, 0.05)
    assert slower.lookup.spread == costs.lookup.spread
    assert slower.checkpoint_bytes_per_second == costs.checkpoint_bytes_per_second


def test_costs_are_the_same_if_the_measured_speed_is_not_known(costs):
    unknown = dataclasses.replace(costs, measured={})
    assert speed.at_speed(unknown, 0.05) is unknown


def test_the_fixed_work_takes_some_time():
    assert speed.speed_seconds() > 0


def test_the_speed_of_the_measured_machine_is_known():
    assert 0 < measured_costs().measured[speed.MEASURED_KEY] < 1
