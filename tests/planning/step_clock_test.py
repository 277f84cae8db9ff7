"""The time of a step, from the times at which steps of `fit` end."""

import types

import pytest

from persia_tf.planning.step_clock import StepClock


@pytest.fixture
def run():
    """Ends steps until training is to stop; returns the clock and how many ended."""

    def run(step_seconds, cores=1.5, most=1_000, steps_per_end=1):
        now = 0.0

        clock = StepClock(lambda: now, lambda: now * cores)
        model = types.SimpleNamespace(stop_training=False)
        clock.set_model(model)
        ended = 0
        while not model.stop_training and ended < most:
            now += step_seconds(ended)
            ended += steps_per_end
            clock.on_train_batch_end(ended - 1)
        return clock.timed(), ended

    return run


def test_short_steps_are_timed_for_two_seconds(run):
    timed, ended = run(lambda step: 0.02)
    assert timed.seconds == pytest.approx(0.02)
    assert timed.cores == pytest.approx(1.5)
    assert 100 <= ended <= 110


def test_long_steps_are_timed_at_least_twenty_times(run):
    timed, ended = run(lambda step: 0.5)
    assert timed.seconds == pytest.approx(0.5)
    assert ended == 25


def test_it_ends_after_twenty_seconds(run):
    timed, ended = run(lambda step: 6.0)
    assert timed.seconds == pytest.approx(6.0)
    assert ended == 5


def test_the_warm_up_and_a_slow_while_do_not_count(run):
    def seconds(step):
        if step < 5:
            return 3.0
        return 0.5 if 30 <= step < 34 else 0.02

    timed, _ = run(seconds)
    assert timed.seconds == pytest.approx(0.02)


def test_several_steps_may_be_executed_at_once(run):
    timed, ended = run(lambda step: 0.2, steps_per_end=10)
    assert timed.seconds == pytest.approx(0.02)
    assert ended % 10 == 0


def test_one_step_has_no_time(run):
    timed, _ = run(lambda step: 0.02, most=1)
    assert timed is None
