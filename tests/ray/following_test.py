"""`Follower`, with servers that the test plays."""

import contextlib
import queue
import time
import types
from concurrent import futures

import pytest

pytest.importorskip("ray")

from persia_tf.ray import following  # noqa: E402
from persia_tf.ray.following import Follower  # noqa: E402

SECONDS = 60


class Answer:
    """What a call of an actor returns at once: a reference to a later answer."""

    def __init__(self):
        self._future = futures.Future()

    def future(self):
        return self._future

    def give(self, value):
        if isinstance(value, Exception):
            self._future.set_exception(value)
        else:
            self._future.set_result(value)


class Ray:
    """The parts of Ray that `Follower` uses."""

    exceptions = types.SimpleNamespace(RayError=RuntimeError)

    def __init__(self):
        self.calls = queue.Queue()  # (known address, answer)
        self.cancelled = []

    def server(self):
        def remote(known, _):
            answer = Answer()
            self.calls.put((known, answer))
            return answer

        return types.SimpleNamespace(address=types.SimpleNamespace(remote=remote))

    def cancel(self, answer):
        self.cancelled.append(answer)


@pytest.fixture
def ray(monkeypatch):
    played = Ray()
    monkeypatch.setattr(following, "ray", played)
    monkeypatch.setattr(following, "_RETRY_SECONDS", 0.001)
    return played


@pytest.fixture
def follow(ray):
    """Follows one server at "a:1"; gives a queue of its moves."""
    started = []

    def start(on_move=None):
        moves = queue.Queue()
        move = on_move or (lambda index, address: moves.put((index, address)))
        started.append(Follower([[ray.server()]], ["a:1"], move))
        return moves

    yield start
    for each in started:
        each.stop()


def test_a_move_is_told_once(ray, follow):
    moves = follow()
    known, answer = ray.calls.get(timeout=SECONDS)
    assert known == "a:1"
    answer.give("b:2")
    assert moves.get(timeout=SECONDS) == (0, "b:2")
    known, answer = ray.calls.get(timeout=SECONDS)
    assert known == "b:2"
    answer.give("b:2")  # It has held the answer, and has not moved.
    assert ray.calls.get(timeout=SECONDS)[0] == "b:2"
    assert moves.empty()


def test_a_server_that_is_being_restarted_is_asked_again(ray, follow):
    moves = follow()
    for _ in range(3):
        ray.calls.get(timeout=SECONDS)[1].give(RuntimeError("it died"))
    ray.calls.get(timeout=SECONDS)[1].give("b:2")
    assert moves.get(timeout=SECONDS) == (0, "b:2")


def test_a_move_that_could_not_be_made_is_made_later(ray, follow):
    made, failures = queue.Queue(), [ValueError("not now"), OSError("nor now")]

    def on_move(index, address):
        if failures:
            raise failures.pop()
        made.put(address)

    follow(on_move)
    for _ in range(3):
        known, answer = ray.calls.get(timeout=SECONDS)
        assert known == "a:1"
        answer.give("b:2")
    assert made.get(timeout=SECONDS) == "b:2"


def test_an_answer_that_never_comes_is_given_up(ray, follow, monkeypatch):
    monkeypatch.setattr(following, "_HOLD_SECONDS", 0.0)
    monkeypatch.setattr(following, "_LATE_SECONDS", 0.0)
    moves = follow()
    lost = ray.calls.get(timeout=SECONDS)[1]
    ray.calls.get(timeout=SECONDS)
    assert lost in ray.cancelled
    monkeypatch.setattr(following, "_LATE_SECONDS", 2.0 * SECONDS)
    deadline = time.monotonic() + SECONDS
    while moves.empty():  # Calls from before that change are given up, too.
        assert time.monotonic() < deadline
        with contextlib.suppress(queue.Empty):
            ray.calls.get(timeout=0.01)[1].give("b:2")
    assert moves.get(timeout=SECONDS) == (0, "b:2")


def test_the_end_cancels_what_servers_hold(ray):
    follower = Follower([[ray.server()]], ["a:1"], lambda *_: None)
    held = ray.calls.get(timeout=SECONDS)[1]
    follower.stop()
    assert ray.cancelled == [held]
