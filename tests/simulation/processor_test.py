"""Cores that jobs share, and threads that run on them."""

import pytest

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.processor import Processor, Thread


@pytest.fixture
def ends():
    """Runs jobs, `(begin, seconds)`, on cores; returns when each ends."""

    def run(jobs, **how):
        clock = Clock()
        processor = Processor(clock, **how)
        ended = {}

        def start(number, seconds):
            processor.run(seconds, lambda: ended.update({number: clock.now}))

        for number, (begin, seconds) in enumerate(jobs):
            clock.after(begin, lambda n=number, s=seconds: start(n, s))
        clock.run(lambda: len(ended) == len(jobs))
        return [ended[number] for number in range(len(jobs))], processor.busy_seconds

    return run


def test_jobs_with_a_core_each_do_not_slow_each_other(ends):
    assert ends([(0, 1), (0, 2)], cores=2) == ([1, 2], 3)


def test_more_jobs_than_cores_share_them_equally(ends):
    # Each has a half of the core for two seconds; then the longer one has all of it.
    assert ends([(0, 1), (0, 2)], cores=1) == ([2, 3], 3)


def test_a_job_that_comes_later_slows_those_that_run(ends):
    # One second alone, two seconds at half the speed, and one second alone.
    assert ends([(0, 2), (1, 2)], cores=1) == ([3, 4], 4)


def test_cores_that_are_all_busy_are_slower(ends):
    ended, busy = ends([(0, 1), (0, 1)], cores=2, crowded_speed=0.5)
    assert ended == [2, 2]
    assert busy == 4


def test_with_some_cores_busy_the_speed_is_in_between(ends):
    ended, _ = ends([(0, 0.75), (0, 0.75)], cores=3, crowded_speed=0.5)
    assert ended == [1, 1]


def test_a_thread_runs_jobs_in_order_and_wakes_up_once():
    clock, ended = Clock(), []
    thread = Thread(Processor(clock, cores=4), clock, wake_seconds=10)
    for name, seconds in (("a", 2), ("b", 1)):
        thread.run(seconds, lambda name=name: ended.append((name, clock.now)))
    assert thread.waiting == 2
    clock.run(lambda: len(ended) == 2)
    assert ended == [("a", 12), ("b", 13)]
    # It sleeps now, and has to wake up again.
    thread.run(1, lambda: ended.append(("c", clock.now)))
    clock.run(lambda: len(ended) == 3)
    assert ended[-1] == ("c", 24)
    assert thread.busy_seconds == 4
