"""Workers that wait for one another outside of steps; here they are threads."""

import threading
from concurrent import futures
from types import SimpleNamespace

import pytest

from persia_tf import errors
from persia_tf.layers import workers as workers_lib
from persia_tf.layers.workers import Workers

# The time-out of every wait in these tests.
DEADLINE = 60


class Sums:
    """Stands in for the collectives of two workers, and counts them."""

    def __init__(self):
        self.barrier = threading.Barrier(2, action=self._count)
        self.given = []
        self.rounds = 0
        self.several_rounds = threading.Event()

    def sum_of_all(self, *values):
        self.given.append(values)
        self.barrier.wait(DEADLINE)
        total = [sum(column) for column in zip(*self.given[-2:])]
        self.barrier.wait(DEADLINE)
        return total

    def _count(self):
        self.rounds += 1
        if self.rounds > 6:
            self.several_rounds.set()


@pytest.fixture
def sums(monkeypatch):
    sums = Sums()
    monkeypatch.setattr(
        Workers, "_sum_of_all", lambda _, *values: sums.sum_of_all(*values)
    )
    monkeypatch.setattr(workers_lib, "_ROUND_SECONDS", 0.01)
    return sums


@pytest.fixture
def together(sums):
    """Runs an action on each of two workers; gives the error of each, or None."""

    def run(*actions):
        extended = SimpleNamespace(worker_devices=["cpu"])
        strategy = SimpleNamespace(num_replicas_in_sync=2, extended=extended)
        with futures.ThreadPoolExecutor(2) as threads:
            ended = [
                threads.submit(Workers(strategy).together, action) for action in actions
            ]
            return [each.exception(DEADLINE) for each in ended]

    return run


def nothing():
    pass


def test_workers_hear_of_one_that_takes_long_until_it_is_done(together, sums):
    heard = []

    def slow():
        heard.append(sums.several_rounds.wait(DEADLINE))

    assert together(slow, nothing) == [None, None]
    assert heard == [True]


def test_all_know_when_one_fails_late(together, sums):
    def slow():
        sums.several_rounds.wait(DEADLINE)
        raise ValueError("too late")

    own, others = together(nothing, slow)[::-1]
    assert isinstance(own, ValueError)
    assert isinstance(others, errors.FailedPreconditionError)
    assert "another worker failed to save or load" in str(others)


def test_an_action_ends_before_the_loss_of_a_worker_is_told(together, sums):
    done = []

    def slow():
        sums.barrier.abort()  # The other one is gone.
        done.append(1)

    error, _ = together(slow, nothing)
    assert isinstance(error, threading.BrokenBarrierError)
    assert done == [1]


def test_a_worker_alone_waits_for_nobody(sums):
    thread = []
    Workers(None).together(lambda: thread.append(threading.current_thread()))
    assert thread == [threading.current_thread()]
    assert sums.rounds == 0
