"""How much more the busiest shard has than the mean of all."""

from __future__ import annotations

import numpy as np

from persia_tf.planning.traffic import owners_of


def over_mean(loads: np.ndarray) -> float:
    """Returns the largest load over the mean load; 1 if there is no load."""
    mean = float(np.mean(loads))
    return float(np.max(loads)) / mean if mean else 1.0


def rows_by_shard(ids: np.ndarray, distinct: float, shards: int) -> np.ndarray:
    """Returns the share of a table's rows that each shard has at the end of a run.

    The slots of the ids in the sample are known. All others are spread evenly, since
    slots are chosen by a hash.

    Args:
        ids: The distinct ids of the sample.
        distinct: How many distinct ids there are at the end.
        shards: The number of shards, each with as many slots, give or take one.

    Returns:
        float64, `(shards,)`, whose sum is 1.
    """
    known = np.bincount(owners_of(ids, shards), minlength=shards).astype(float)
    loads = known + max(distinct - len(ids), 0.0) / shards
    return loads / loads.sum() if loads.sum() else np.full(shards, 1 / shards)
