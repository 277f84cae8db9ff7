"""The sample that stands in for UCI Adult."""

import numpy as np
from adult_income import data, sample
from common.metrics import roc_auc


def test_equal_seeds_give_equal_samples():
    first, same, other = (sample.generate(seed, rows=3_000)[0] for seed in (1, 1, 2))
    assert np.array_equal(first.labels, same.labels)
    for name, column in first.features.items():
        assert np.array_equal(column, same.features[name]), name
    assert not np.array_equal(first.labels, other.labels)


def test_its_columns_are_those_of_the_real_data():
    train, test = sample.generate(0, rows=3_000)
    assert (len(train), len(test)) == (2_000, 1_000)
    assert set(train.features) == {*data.CATEGORICAL, "numbers"}
    assert train.features["numbers"].shape == (2_000, len(data.NUMERIC))


def test_the_features_tell_something_about_the_labels_but_not_all():
    _, test = sample.generate(0, rows=9_000)
    assert 0.7 < roc_auc(test.labels, test.probabilities) < 0.95
