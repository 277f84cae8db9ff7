"""Reading UCI Adult's files."""

import numpy as np
import pytest
from adult_income import data
from common.ids import string_id

LINE = (
    "{age}, {workclass}, 77516, Bachelors, 13, Never-married, Adm-clerical, "
    "Not-in-family, White, Male, {gain}, 0, 40, United-States, {label}\n"
)


def line(age=39, workclass="State-gov", gain=2174, label="<=50K"):
    return LINE.format(age=age, workclass=workclass, gain=gain, label=label)


@pytest.fixture
def write(tmp_path):
    def write_files(train, test):
        (tmp_path / "adult.data").write_text(train)
        (tmp_path / "adult.test").write_text(test)
        return tmp_path

    return write_files


@pytest.fixture
def tables(write):
    train = line() + line(age=41, workclass="?", gain=0, label=">50K") + "\n"
    test = "|1x3 Cross validator\n" + line(age=43, label=">50K.") + line(label="<=50K.")
    return data.read(write(train, test))


def test_labels_are_those_above_fifty_thousand_in_both_files(tables):
    train, test = tables
    assert train.labels.tolist() == [0, 1]
    assert test.labels.tolist() == [1, 0]


def test_categories_are_ids_and_a_missing_value_is_one(tables):
    train, _ = tables
    expected = [string_id("State-gov"), string_id("?")]
    assert train.features["workclass"].tolist() == expected
    assert train.features["native_country"].tolist() == [string_id("United-States")] * 2


def test_each_column_is_a_category_or_a_number(tables):
    train, _ = tables
    assert set(train.features) == {*data.CATEGORICAL, "numbers"}
    assert (len(data.CATEGORICAL), len(data.NUMERIC)) == (8, 6)
    assert {train.features[name].dtype for name in data.CATEGORICAL} == {
        np.dtype(np.int64)
    }


def test_numbers_are_scaled_by_the_training_rows(tables):
    train, test = tables
    age = data.NUMERIC.index("age")
    assert train.features["numbers"][:, age].tolist() == [-1, 1]
    assert test.features["numbers"][:, age].tolist() == [3, -1]
    assert train.features["numbers"].dtype == np.float32


def test_gains_are_scaled_by_their_logarithm(write):
    gains = (0, 9, 99)  # log1p of which are evenly spaced.
    lines = "".join(line(gain=gain) for gain in gains)
    train, _ = data.read(write(lines, lines))
    scaled = train.features["numbers"][:, data.NUMERIC.index("capital_gain")]
    assert scaled == pytest.approx(np.sqrt(1.5) * np.array([-1, 0, 1]), abs=1e-6)


def test_a_number_that_never_varies_becomes_zero(tables):
    hours = data.NUMERIC.index("hours_per_week")
    assert [table.features["numbers"][:, hours].tolist() for table in tables] == [
        [0, 0],
        [0, 0],
    ]


@pytest.mark.parametrize("wrong", ["39, State-gov, <=50K\n", line(label="50K")])
def test_what_is_wrong_with_a_file_is_told(write, wrong):
    with pytest.raises(ValueError, match=r"adult\.data:2: a line must have 14 fields"):
        data.read(write(line() + wrong, line()))
