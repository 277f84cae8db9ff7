"""Reading Criteo's file."""

import numpy as np
import pytest
from common.ids import string_id
from criteo_dlrm import data

COUNTS = ["1", "-1", "", *["0"] * 10]
CATEGORIES = ["68fd1e64", "", *["25c83c98"] * 24]


def line(label="0", counts=COUNTS, categories=CATEGORIES):
    return "\t".join([label, *counts, *categories]) + "\n"


@pytest.fixture
def write(tmp_path):
    def write_file(text):
        (tmp_path / "train.txt").write_text(text)
        return tmp_path

    return write_file


def test_categories_are_ids_and_a_missing_value_is_one(write):
    features = data.read(write(line() + line())).features
    assert features["C1"].tolist() == [string_id("68fd1e64")] * 2
    assert features["C2"].tolist() == [string_id("")] * 2
    assert features["C26"].dtype == np.int64


def test_counts_become_logarithms_and_none_is_below_zero(write):
    numbers = data.read(write(line())).features["numbers"]
    assert numbers.dtype == np.float32
    np.testing.assert_allclose(numbers, [[np.log(2), *[0] * 12]], rtol=1e-6)


def test_labels_are_clicks(write):
    table = data.read(write(line("0") + line("1")))
    assert table.labels.tolist() == [0, 1]
    assert set(table.features) == {*data.CATEGORICAL, "numbers"}


@pytest.mark.parametrize("wrong", ["1\t2\t3\n", line("7")])
def test_a_line_of_another_format_is_named(wrong, write):
    with pytest.raises(ValueError, match=r"train\.txt:2: .*40 fields"):
        data.read(write(line() + wrong))
