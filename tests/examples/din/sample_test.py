"""The sample that stands in for MovieLens's histories."""

import numpy as np
from common.metrics import roc_auc
from din import sample


def test_equal_seeds_give_equal_samples():
    first, same, other = (sample.generate(seed, rows=2_000)[0] for seed in (1, 1, 2))
    assert np.array_equal(first.labels, same.labels)
    for name, column in first.features.items():
        assert np.array_equal(column, same.features[name]), name
    assert not np.array_equal(first.labels[:1000], other.labels[:1000])


def test_the_features_tell_something_about_the_labels_but_not_all():
    _, test = sample.generate(0, rows=20_000)
    assert 0.7 < roc_auc(test.labels, test.probabilities) < 0.95
