"""The area under the ROC curve, exactly."""

import numpy as np


def roc_auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Returns the probability that a positive row outscores a negative one.

    Ties count one half. `keras.metrics.AUC` approximates this with buckets.

    Raises:
        ValueError: if the labels are all equal.
    """
    positive = np.asarray(labels) > 0.5
    n_positive = int(positive.sum())
    n_negative = len(positive) - n_positive
    if not n_positive or not n_negative:
        raise ValueError(
            "labels must hold both classes for an AUC to exist; got "
            f"{n_positive} positive and {n_negative} negative rows. Use more "
            "rows."
        )
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(count) - (count - 1) / 2
    rank_sum = mean_rank[place[positive]].sum()
    pairs_won = rank_sum - n_positive * (n_positive + 1) / 2
    return float(pairs_won / (n_positive * n_negative))
