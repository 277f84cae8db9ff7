"""What data workers deliver, in order and once, and what they do not."""

import collections

import pytest

from persia_tf.data.remote.deliveries import Delivery, End
from persia_tf.data.remote.in_order import InOrder

FIRSTS = [0, 3, 6, 9]
END = 12


class Scripted:
    """Deliveries that a test has written down: batches, `None` for silence, or ends."""

    def __init__(self, script):
        self._script = collections.deque(script)
        self.is_closed = False
        self.waits = []

    def take(self, seconds):
        self.waits.append(seconds)
        each = self._script.popleft() if self._script else None
        if isinstance(each, int):
            return Delivery(each, each // 3 % 2, [f"remote {each}"])
        return each

    def close(self):
        self.is_closed = True


class Here:
    """Reads batches in this program, and notes which."""

    def __init__(self):
        self.read = []

    def __call__(self, first, last):
        for batch in range(first, last):
            self.read.append(batch)
            yield batch, [f"here {batch}"]


def run(*scripts, start=0):
    """Returns the batches that were read here, and the requests."""
    asked, here = [], Here()
    left = iter(scripts)

    def request(first):
        asked.append((first, Scripted(next(left))))
        return asked[-1][1]

    ordered = InOrder(FIRSTS, request, here, patience=7.0)
    handed = list(ordered.batches(start, END))
    assert [number for number, _ in handed] == list(range(start, END))
    for number, [tensor] in handed:
        assert tensor.split()[1] == str(number)
    return here.read, asked


@pytest.mark.parametrize(
    "script",
    [
        range(12),
        [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11],
        [3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11],
        [0, 0, 1, 0, 1, 2, *range(12)],  # Some twice.
    ],
)
def test_in_any_order(script):
    here, [(first, deliveries)] = run([*script])
    assert here == []
    assert first == 0
    assert deliveries.is_closed


def test_from_a_batch_on():
    here, [(first, _)] = run([3, 4, 5, *range(6, 12)], start=4)
    assert (here, first) == ([], 4)


def test_what_is_missing_at_the_end_is_read_here():
    here, asked = run([0, 1, 2, 3, 6, 7, 8, 9, 10, 11, End(None)])
    assert here == [4, 5]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("processes", "is_lost"), [([5, 5, 5], True), ([5, 6, 7], False)]
)
def test_a_batch_is_lost_when_later_groups_come(processes, is_lost):
    here = Here()
    deliveries = Scripted(
        [
            Delivery(each, process, [f"remote {each}"])
            for each, process in zip((1, 2, 3, 0), (*processes, 8))
        ]
    )
    ordered = InOrder([0, 1, 2, 3], lambda first: deliveries, here, patience=7.0)
    handed = dict(ordered.batches(0, 4))
    assert here.read == ([0] if is_lost else [])
    assert handed[3] == ["remote 3"]


def test_without_workers_all_is_read_here_and_waited_for_once():
    here, [(_, deliveries)] = run([])
    assert here == list(range(12))
    assert deliveries.waits == [7.0, 0.0, 0.0, 0.0]


def test_workers_that_come_back_are_waited_for_again():
    here, [(_, deliveries)] = run([0, None, *range(3, 12)])
    assert here == [1, 2]
    assert deliveries.waits == [7.0, 7.0, 0.0, *[7.0] * 8]


def test_after_an_error_the_rest_is_read_here_until_workers_are_asked_again(
    monkeypatch,
):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    asked, here = [], Here()

    def request(first):
        asked.append(first)
        now[0] += 3
        ends = End(ValueError("a worker's error"))
        return Scripted([0, 1, ends] if first == 0 else range(first, 12))

    ordered = InOrder(FIRSTS, request, here, patience=7.0)
    for batch, _ in ordered.batches(0, END):
        now[0] += 1.5
        assert batch in range(12)
    # The rest of the first group; then the workers get another request.
    assert here.read == [2]
    assert asked == [0, 3]
