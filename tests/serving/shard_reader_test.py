"""The thread that reads a shard, which is a script here."""

import queue
import threading
import time

import numpy as np
import pytest
from harness import wait_until

from persia_tf.following import Changes
from persia_tf.serving.shard_reader import ShardReader

SECONDS = 30.0


class ScriptedShard:
    """Gives the answers that a test puts into a queue; polls wait for them."""

    def __init__(self):
        self.answers = queue.Queue()
        self.beginnings = 1
        self.goodbyes = 0

    def tell(self, complete=True):
        slots = np.ones(2**14, np.uint32)
        self.answers.put(Changes("on", complete, [], slots, slots > 1))

    def fail(self, error):
        self.answers.put(error)

    def begin_anew(self):
        self.beginnings += 1

    def close(self):
        self.goodbyes += 1

    def poll(self):
        answer = self.answers.get(timeout=SECONDS)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Counting:
    """A sink that reports 1 row set and 2 erased for each poll, and counts losses."""

    losses = 0

    def apply(self, changes):
        return 1, 2

    def lost(self):
        self.losses += 1


class Refusing(Counting):
    """A sink that cannot apply anything."""

    def apply(self, changes):
        raise ValueError("no such row")


@pytest.fixture
def shard():
    return ScriptedShard()


@pytest.fixture
def read(shard):
    """Starts a reader; it ends with the test."""
    readers = []

    def start(sink=None, poll_seconds=SECONDS):
        reader = ShardReader("a:1", shard, sink or Counting(), poll_seconds)
        readers.append(reader)
        return reader

    yield start
    for _ in range(100):
        shard.tell()
    for reader in readers:
        reader.stop()


def deadline():
    return time.monotonic() + SECONDS


def test_a_round_is_over_once_the_shard_has_told_all(shard, read):
    reader = read()
    asked = reader.next_round()
    for complete in (True, False, True):  # The first may have begun already.
        shard.tell(complete)
    shard.tell()
    assert reader.wait_for(asked, deadline())
    progress = reader.progress
    assert progress.rows >= 1 and progress.erased == 2 * progress.rows
    assert progress.current_at is not None and progress.error == ""


def test_who_waits_does_not_wait_for_the_pause(shard, read):
    reader = read(poll_seconds=3600)
    shard.tell()
    assert reader.wait_for(1, deadline())
    asked = reader.next_round()
    assert asked == 2
    shard.tell()
    assert reader.wait_for(asked, deadline())


def test_a_failure_is_told_and_the_next_round_goes_on(shard, read):
    sink = Counting()
    reader = read(sink)
    shard.fail(ConnectionError("it is away"))
    shard.tell()
    assert reader.wait_for(2, deadline())
    assert sink.losses == 1
    assert shard.beginnings == 1
    assert reader.progress.failures == 1
    assert reader.progress.error == ""


def test_what_was_not_applied_is_not_gone_on_from(shard, read):
    reader = read(Refusing())
    shard.tell()
    wait_until(lambda: reader.progress.failures, "a failure")
    assert reader.progress.error == "ValueError: no such row"
    assert shard.beginnings > 1
    assert reader.progress.current_at is None
    assert not reader.wait_for(1, time.monotonic())


def test_who_waits_for_one_that_stops_is_told_no(shard, read):
    reader = read()
    answers = []
    waiter = threading.Thread(
        target=lambda: answers.append(reader.wait_for(100, deadline()))
    )
    waiter.start()
    shard.tell()
    reader.stop()
    waiter.join(SECONDS)
    assert answers == [False]


def test_one_that_stops_says_goodbye(shard, read):
    reader = read(poll_seconds=3600)
    shard.tell()
    assert reader.wait_for(1, deadline())
    reader.stop(SECONDS)
    assert shard.goodbyes == 1


def test_one_that_could_not_apply_says_goodbye(shard, read):
    reader = read(Refusing())
    shard.tell()
    wait_until(lambda: reader.progress.failures, "a failure")
    shard.tell()
    reader.stop(SECONDS)
    assert shard.goodbyes == 1


def test_a_shard_that_is_away_is_told_no_goodbye(shard, read):
    reader = read()
    shard.fail(ConnectionError("it is away"))
    wait_until(lambda: reader.progress.failures, "a failure")
    shard.fail(ConnectionError("it is away"))
    reader.stop(SECONDS)
    assert shard.goodbyes == 0


def test_a_late_answer_is_not_applied_once_it_has_stopped(shard, read):
    sink = Counting()
    reader = read(sink)
    reader.stop(0.0)
    assert sink.losses == 1
    shard.tell()
    wait_until(lambda: shard.goodbyes, "the thread's end")
    assert reader.progress.rows == 0
