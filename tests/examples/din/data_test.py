"""Histories made from MovieLens's ratings."""

import numpy as np
import pytest
from din import data

# The ratings of user 1 are out of order; film 11 got 3 stars, which is dropped.
RATINGS = """\
1::14::5::4
1::10::5::1
1::11::3::2
1::12::1::3
1::15::4::5
2::10::2::1
1::16::4::6
"""


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "ratings.dat").write_text(RATINGS)
    return data.read(tmp_path)


def films(history):
    return [film for film in history.tolist() if film]


def test_a_history_is_what_the_user_liked_before(tables):
    train, _ = tables
    assert train.features["movie"].tolist() == [10, 12, 14, 15, 10]
    histories = [films(history) for history in train.features["history"]]
    assert histories == [[], [10], [10], [10, 14], []]


def test_the_last_ratings_of_each_user_are_for_the_test(tables):
    _, test = tables
    assert test.features["movie"].tolist() == [16]
    assert films(test.features["history"][0]) == [10, 14, 15]


def test_padding_comes_first(tables):
    train, _ = tables
    assert train.features["history"].shape == (5, data.MAX_HISTORY)
    assert train.features["history"][3].tolist() == [0] * 18 + [10, 14]


def test_labels_are_ratings_above_three(tables):
    assert tables[0].labels.tolist() == [1, 0, 1, 1, 0]


def test_a_long_history_keeps_the_last_films():
    films_seen = np.arange(1, 31)
    histories = data.histories(np.ones(30, int), films_seen, np.ones(30))
    assert histories[-1].tolist() == films_seen[9:29].tolist()


def test_users_who_like_nothing_have_no_history():
    histories = data.histories(np.array([1, 1, 2]), np.array([5, 6, 7]), np.zeros(3))
    assert not histories.any()
