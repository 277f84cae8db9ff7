"""Cores that jobs share, and threads that run on them."""

import pytest

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.processor import COLD_PART, Processor, Thread


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


def test_a_core_that_becomes_idle_takes_a_job_that_waits(ends):
    # The third job shares the first core; the other core takes it after a second.
    ended, busy = ends([(0, 3), (0, 1), (0, 3)], cores=2)
    assert ended == [3.5, 1, 3.5]
    assert busy == 7


def test_without_balance_a_job_stays_where_it_began(ends):
    ended, busy = ends([(0, 3), (0, 1), (0, 3)], cores=2, balance=0.0)
    assert ended == [6, 1, 6]
    assert busy == 7


def test_jobs_are_taken_in_a_part_of_the_time(ends):
    # In each second, a job shares a core for a while, or is taken by the idle one.
    jobs = [(0, 1e6)] + [(n + part, 0.25) for n in range(1000) for part in (0, 0.125)]

    def total(balance):
        ended, _ = ends(jobs, cores=2, balance=balance, balance_seconds=2.0)
        return sum(end % 1 for end in ended[2::2])

    never, sometimes, always = total(0.0), total(0.5), total(1.0)
    assert never > sometimes > always


def test_a_thread_is_slower_after_another_one_ran_on_its_core():
    clock, ended = Clock(), []
    processor = Processor(clock, cores=1)
    threads = [Thread(processor, clock, 0, cold_seconds=1) for _ in range(2)]

    def run(thread, seconds):
        threads[thread].run(seconds, lambda: ended.append(clock.now))
        count = len(ended)
        clock.run(lambda: len(ended) > count)

    run(0, 8)
    run(0, 8)
    assert ended == [8, 16]
    run(1, 8)  # It has not run before.
    run(0, 2)
    assert ended[2:] == [24, 26 + 2 * COLD_PART]
    run(1, 8)
    assert ended[-1] == ended[-2] + 8 + 1


def test_a_thread_goes_back_to_its_core_unless_another_one_is_idle():
    clock, ended = Clock(), []
    processor = Processor(clock, cores=2)
    thread = Thread(processor, clock, wake_seconds=0)
    thread.run(1, lambda: ended.append(clock.now))
    clock.run(lambda: len(ended) == 1)
    processor.run(5, lambda: None, home=0)
    thread.run(1, lambda: ended.append(clock.now))
    clock.run(lambda: len(ended) == 2)
    assert ended == [1, 2]
    processor.run(5, lambda: None, home=1)
    thread.run(1, lambda: ended.append(clock.now))
    clock.run(lambda: len(ended) == 3)
    assert ended[-1] == 4  # It has half of a core.


@pytest.mark.parametrize(
    ("jobs_beside_waker", "end"),
    [
        (0, 5),  # On the core of the waker, whose next job takes half of it until 4.
        (1, 6),  # On its own core, of which another job takes half.
    ],
)
def test_without_an_idle_core_a_thread_begins_on_that_of_its_waker(
    jobs_beside_waker, end
):
    clock, ended = Clock(), []
    processor = Processor(clock, cores=2, balance=0.0)
    woken, waker = (Thread(processor, clock, wake_seconds=0) for _ in range(2))
    woken.run(1, lambda: ended.append(clock.now))
    clock.run(lambda: len(ended) == 1)
    processor.run(10, lambda: None, home=0)

    def wake():
        for _ in range(jobs_beside_waker):
            processor.run(10, lambda: None, home=1)
        woken.run(2, lambda: ended.append(clock.now))

    waker.run(1, wake)
    waker.run(1, lambda: None)
    clock.run(lambda: len(ended) == 2)
    assert ended == [1, end]


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
