"""Costs by which times can be computed by hand."""

import dataclasses

import pytest

from persia_tf.simulation.costs import CallCosts, Costs, Work, measured_costs


@pytest.fixture
def free():
    """Costs of programs that take no time, so that only waiting is left."""
    calls = CallCosts(*(Work(), Work(), Work(), Work()), overlap=0.0, spread=(1.0, 1.0))
    return dataclasses.replace(
        measured_costs(),
        lookup=calls,
        update=calls,
        trainer=Work(),
        wake_seconds=0.0,
        cold_seconds=0.0,
        crowded_speed=1.0,
        balance=1.0,
        proxy_request=0.0,
        proxy_byte=0.0,
    )


@pytest.fixture
def charge():
    """Returns costs in which threads take given work for lookups."""

    def charged(costs: Costs, **works: Work) -> Costs:
        return dataclasses.replace(
            costs, lookup=dataclasses.replace(costs.lookup, **works)
        )

    return charged
