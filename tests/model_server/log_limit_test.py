"""Logs that a client cannot fill."""

import logging

import pytest

from persia_tf.model_server import log_limit


class Clock:
    """Replaces `time`: the time changes only when a test sets it."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(log_limit, "time", made)
    return made


@pytest.fixture
def logger(request):
    made = logging.getLogger(f"persia.test.{request.node.name}")
    made.addFilter(log_limit.LogLimit(most=2, seconds=60))
    return made


def test_the_same_is_told_a_few_times(logger, clock, caplog):
    for number in range(100):
        logger.error("request %d failed", number)
    assert caplog.messages == ["request 0 failed", "request 1 failed"]


def test_something_else_is_told(logger, clock, caplog):
    for _ in range(3):
        logger.error("one")
        logger.error("other")
    assert caplog.messages == ["one", "other"] * 2


def test_what_was_held_back_is_counted(logger, clock, caplog):
    for number in range(10):
        logger.error("request %d failed", number)
    clock.now = 60
    logger.error("request %d failed", 10)
    assert caplog.messages[2:] == ["request 10 failed (and 8 more before it)"]
    clock.now = 120
    logger.error("request %d failed", 11)
    assert caplog.messages[3:] == ["request 11 failed"]


def test_a_logger_has_one_limit():
    first = log_limit.limited("persia.test.limited")
    assert log_limit.limited("persia.test.limited") is first
    assert len(first.filters) == 1
