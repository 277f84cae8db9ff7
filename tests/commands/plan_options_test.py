"""The options of `persia plan` about time, and which need which."""

import argparse

import pytest

from persia_tf.commands import plan_times


@pytest.fixture
def options():
    """Returns the arguments of ptf.plan that some options give."""

    def of(*given):
        parser = argparse.ArgumentParser()
        plan_times.add_arguments(parser)
        return plan_times.options_of(parser.parse_args(given))

    return of


def test_options_become_arguments(options):
    found = options("--step-seconds=0.1", "--trainer-price=3", "--shard-price=1")
    assert found["step_seconds"] == 0.1
    assert found["prices"] == {"trainer": 3.0, "shard": 1.0}
    assert options()["prices"] is None


@pytest.mark.parametrize(
    "given", ["--staleness=0", "--latency=0.1", "--network-gbits=1", "--shard-price=1"]
)
def test_options_about_time_need_a_time_of_the_own_step(options, given):
    name, _, value = given.partition("=")
    told = f"{name} is about time.*--step-seconds.*Received: {name} {value} without"
    with pytest.raises(ValueError, match=told):
        options(given)
    assert options("--time", "--latency=0.1", "--staleness=0")["latency"] == 0.1


def test_one_price_alone_is_refused(options):
    with pytest.raises(ValueError, match="together. Received: only --trainer-price 3"):
        options("--time", "--trainer-price=3")
