"""The exact area under the ROC curve."""

import numpy as np
import pytest
from common.metrics import roc_auc


def test_auc_is_the_share_of_pairs_in_order_with_ties_as_half():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 200)
    scores = random.integers(0, 20, 200) + labels
    difference = scores[labels == 1][:, None] - scores[labels == 0][None, :]
    expected = np.mean((difference > 0) + 0.5 * (difference == 0))
    assert roc_auc(labels, scores) == pytest.approx(expected, abs=1e-12)


def test_auc_of_constant_scores_is_one_half():
    assert roc_auc(np.array([0, 1, 1]), np.zeros(3)) == 0.5


def test_auc_of_one_class_is_refused():
    with pytest.raises(ValueError, match="3 positive and 0 negative"):
        roc_auc(np.ones(3), np.arange(3))
