"""How far a process raises its limit of descriptors."""

import resource

import pytest

from persia_tf.processes import descriptors


@pytest.fixture
def limits(monkeypatch):
    """The process's soft and hard limits; 40 descriptors are in use."""
    held = [1024, 4096]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(held))

    def set_limits(_, limits):
        held[:] = limits

    monkeypatch.setattr(resource, "setrlimit", set_limits)
    monkeypatch.setattr(descriptors, "used", lambda: 40)
    return held


def test_the_limit_is_raised_by_what_is_needed(limits):
    descriptors.raise_limit(2048)
    assert limits == [2048 + 40 + descriptors.RESERVED, 4096]


def test_the_limit_is_raised_as_far_as_it_may_be(limits):
    descriptors.raise_limit(100_000)
    assert limits == [4096, 4096]


@pytest.mark.parametrize("soft", [8192, resource.RLIM_INFINITY])
def test_a_limit_that_is_high_stays(limits, soft):
    limits[:] = [soft, resource.RLIM_INFINITY]
    descriptors.raise_limit(1000)
    assert limits[0] == soft
