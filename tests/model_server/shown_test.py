"""How messages show text that came from a client."""

import pytest

from persia_tf.model_server.shown import clipped, shown


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    ["x" * 10**7, ["x" * 10**6] * 1000, {str(i): i for i in range(1000)}],
)
def test_what_is_long_is_cut(value):
    assert len(shown(value)) < 4000


def test_what_is_deep_is_cut():
    assert shown(nested(10_000)) == "[[[[[[[...]]]]]]]"


def test_what_is_short_is_as_it_is():
    assert shown(["a", "b"]) == "['a', 'b']"
    assert clipped("é" * 1000) == "é" * 1000


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600", "\udc80"])
def test_a_message_is_cut_by_its_bytes(character):
    message = clipped(character * 10**6)
    assert len(message.encode()) <= 2000
    assert message.endswith("... (cut)")
