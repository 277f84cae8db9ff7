"""Reading MovieLens's files."""

import numpy as np
import pytest
from common.ids import string_id
from movielens import data

USERS = "1::F::1::10::48067\n3::M::25::15::98107-2117\n2::M::56::16::00231\n"
MOVIES = (
    "10::City of Lost Children, The (Cité des enfants perdus, La) (1995)"
    "::Adventure|Sci-Fi\n"
    "2::Et Cætera: A Tale (1999)::Drama\n"
    "7::Six|Of|Them (1990)::Action|Adventure|Comedy|Crime|Horror|Thriller\n"
)
RATINGS = "1::10::5::978300760\n3::7::3::1\n2::2::4::2\n3::10::1::3\n"


@pytest.fixture
def write(tmp_path):
    def write_files(users=USERS, movies=MOVIES, ratings=RATINGS):
        for name, text in zip(data.SOURCE.files, (ratings, users, movies)):
            (tmp_path / name).write_bytes(text.encode("latin-1"))
        return tmp_path

    return write_files


def test_a_row_is_a_rating_above_or_below_three(write):
    table = data.read(write())
    assert table.features["user"].tolist() == [1, 2, 3]
    assert table.features["movie"].tolist() == [10, 2, 10]
    assert table.labels.tolist() == [1, 1, 0]


def test_users_features_follow_their_ratings(write):
    features = data.read(write()).features
    assert features["age"].tolist() == [1, 56, 25]
    assert features["occupation"].tolist() == [10, 16, 15]
    assert features["gender"].tolist() == [string_id(g) for g in "FMM"]


def test_zip_codes_count_to_five_digits(write):
    expected = [string_id(code) for code in ("48067", "00231", "98107")]
    assert data.read(write()).features["zip"].tolist() == expected


def test_genres_are_padded(write):
    rows = data.read(write()).features["genres"].tolist()
    pair = [string_id("Adventure"), string_id("Sci-Fi"), 0, 0, 0, 0]
    assert rows == [pair, [string_id("Drama")] + [0] * 5, pair]


def test_six_genres_fit(write):
    features = data.read(write(ratings="1::7::5::1\n")).features
    genres = ("Action", "Adventure", "Comedy", "Crime", "Horror", "Thriller")
    assert features["genres"].tolist() == [[string_id(name) for name in genres]]


def test_every_id_is_int64(write):
    features = data.read(write()).features
    assert set(features) == set(data.FEATURES)
    assert {column.dtype for column in features.values()} == {np.dtype(np.int64)}


def test_windows_line_ends_and_no_last_one_are_read(write):
    crlf = [text.replace("\n", "\r\n")[:-2] for text in (USERS, MOVIES, RATINGS)]
    windows = data.read(write(*crlf)).features
    unix = data.read(write()).features
    for name in data.FEATURES:
        assert np.array_equal(windows[name], unix[name]), name


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"ratings": "1::10::five::3\n"}, r"ratings\.dat: a line must be"),
        ({"ratings": "1::10\n"}, r"ratings\.dat: a line must be"),
        ({"users": "1::F::1::10\n"}, r"users\.dat:1: a line must have 5 fields"),
        ({"movies": "10::Name\n"}, r"movies\.dat:1: a line must have 3 fields"),
        ({"movies": "10::Name::a|b|c|d|e|f|g\n"}, "at most 6 genres; 10 has a"),
        ({"ratings": "9::10::5::3\n"}, r"has user 9, which users\.dat must list"),
        ({"ratings": "1::11::5::3\n"}, r"has movie 11, which movies\.dat must list"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(write, files, message):
    with pytest.raises(ValueError, match=message):
        data.read(write(**files))
