"""What a store in this process takes of a step is left out of the model's own part."""

import dataclasses

import pytest

from persia_tf.planning.step_clock import TimedSteps
from persia_tf.planning.step_load import StepLoad
from persia_tf.planning.store_work import without_store
from persia_tf.simulation.costs import Work, measured_costs


@pytest.fixture
def load():
    return StepLoad(
        examples=8, tables=2, layers=1, ids=2000, rows=1000, dim=4, dense_bytes=0
    )


@pytest.fixture
def costs():
    """A row takes 1 us of the shard in a lookup, and 2 us in an update."""
    nothing = {name: Work() for name in ("caller", "io", "shard", "worker")}
    found = measured_costs()
    lookup, update = (
        dataclasses.replace(call, **{**nothing, "shard": Work(request=1.0, row=row)})
        for call, row in ((found.lookup, 1e-6), (found.update, 2e-6))
    )
    return dataclasses.replace(found, lookup=lookup, update=update)


def test_rows_are_left_out_and_requests_were_never_made(load, costs):
    own = without_store(TimedSteps(0.010, 1.3), load, costs)
    assert own.seconds == pytest.approx(0.007)
    assert own.cores == pytest.approx((0.013 - 0.003) / 0.007)


def test_something_is_left_if_costs_are_far_off(load, costs):
    own = without_store(TimedSteps(0.001, 1.0), load, costs)
    assert own.seconds == pytest.approx(0.0002)
