"""The sample that stands in for MovieLens."""

import numpy as np
from common.metrics import roc_auc
from movielens import data, sample

SMALL = {"rows": 5_000, "users": 200, "movies": 100}


def test_equal_seeds_give_equal_samples():
    first, same, other = (sample.generate(seed, **SMALL) for seed in (1, 1, 2))
    assert np.array_equal(first.labels, same.labels)
    for name in data.FEATURES:
        assert np.array_equal(first.features[name], same.features[name]), name
    assert not np.array_equal(first.labels, other.labels)


def test_its_columns_are_those_of_the_real_data():
    table = sample.generate(0, **SMALL)
    assert tuple(table.features) == data.FEATURES
    assert {column.dtype for column in table.features.values()} == {np.dtype(np.int64)}
    assert table.features["genres"].shape == (5_000, data.MAX_GENRES)


def test_the_features_tell_something_about_the_labels_but_not_all():
    table = sample.generate(0, **SMALL)
    assert 0.7 < roc_auc(table.labels, table.probabilities) < 0.9
