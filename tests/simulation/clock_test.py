"""The simulated time."""

import pytest

from persia_tf.simulation.clock import Clock
from persia_tf.simulation.link import Link


def test_actions_run_in_the_order_of_their_times_and_then_as_they_came():
    clock, ran = Clock(), []
    for seconds, name in ((2, "c"), (1, "a"), (1, "b"), (3, "d")):
        clock.after(seconds, lambda name=name: ran.append((name, clock.now)))
    clock.run(lambda: len(ran) == 3)
    assert ran == [("a", 1), ("b", 1), ("c", 2)]


def test_an_action_may_begin_others():
    clock, ran = Clock(), []
    clock.after(1, lambda: clock.after(2, lambda: ran.append(clock.now)))
    clock.run(lambda: bool(ran))
    assert ran == [3]


def test_a_simulation_that_waits_forever_says_so():
    with pytest.raises(RuntimeError, match="waits for something forever"):
        Clock().run(lambda: False)


def test_a_link_carries_messages_one_after_the_other():
    clock, came = Clock(), []
    link = Link(clock, bytes_per_second=100)
    for size in (100, 50):
        link.carry(size, lambda: came.append(clock.now))
    clock.run(lambda: len(came) == 2)
    # It is free again by then, and begins at once.
    clock.after(1, lambda: link.carry(200, lambda: came.append(clock.now)))
    clock.run(lambda: len(came) == 3)
    assert came == [1, 1.5, 4.5]
    assert link.busy_seconds == 3.5
