"""The sample that stands in for Criteo's ads."""

import numpy as np
from common.metrics import roc_auc
from criteo_dlrm import data, sample


def test_equal_seeds_give_equal_samples():
    first, same, other = (sample.generate(seed, rows=2_000) for seed in (1, 1, 2))
    assert np.array_equal(first.labels, same.labels)
    for name, column in first.features.items():
        assert np.array_equal(column, same.features[name]), name
    assert not np.array_equal(first.labels, other.labels)


def test_its_columns_are_those_of_the_real_data():
    table = sample.generate(0, rows=2_000)
    assert set(table.features) == {*data.CATEGORICAL, "numbers"}
    assert table.features["numbers"].shape == (2_000, len(data.COUNTS))


def test_the_features_tell_something_about_the_labels_but_not_all():
    table = sample.generate(0, rows=9_000)
    assert 0.7 < roc_auc(table.labels, table.probabilities) < 0.95
