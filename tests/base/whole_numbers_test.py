"""Whole numbers of the command line."""

import pytest

from persia_tf.base import whole_numbers


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("-3", -3), ("1e5", 100_000), ("2.5e1", 25)]
)
def test_whole_numbers_are_parsed(text, value):
    assert whole_numbers.parse(text) == value


def test_large_integers_keep_all_digits():
    assert whole_numbers.parse("9007199254740993") == 9007199254740993


@pytest.mark.parametrize("text", ["", "x", "1.5", "inf", "nan", "1e400", "12%"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError):
        whole_numbers.parse(text)
