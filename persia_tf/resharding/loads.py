"""`measure`: how busy each slot of a cluster is."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from persia_tf.resharding.admin import ClusterAdmin, Topology

# Slots whose loads differ by less than about this factor were "about as busy".
_ALIKE = 1.2


def measure(admin: ClusterAdmin, topology: Topology, seconds: float) -> np.ndarray:
    """Measures for some seconds how busy each slot is; blocks so long.

    Args:
        admin: A `ClusterAdmin` of the cluster.
        topology: The cluster's `Topology`.
        seconds: For how long to measure.

    Returns:
        For each slot its part of all load, from 0 to 1: the mean of its part of the ids
        that lookups and updates have, and of its part of the bytes of these ids'
        vectors. All are 0 if there was no request.

    Raises:
        PersiaError: if a shard does not answer.
    """
    members = [member.id for member in topology.present]
    reads = [_read_all(admin, members)]
    for _ in range(2):
        time.sleep(seconds / 2)
        reads.append(_read_all(admin, members))
    first, second = _load(reads[0], reads[1]), _load(reads[1], reads[2])
    return expected(first, second, topology.owners)


def expected(first: np.ndarray, second: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Returns the load that each slot will have, from its loads in two periods.

    Shards count a sample of ids, so of slots that are equally busy some seem to be
    busier by chance. A plan that moves the slots that seem to be the busiest would move
    less load than it thinks. So a slot is expected to have as much as the slots of its
    shard that were about as busy in the first period had in the second one, on average.

    Args:
        first: The slots' loads in the first period.
        second: Their loads in the second one.
        owners: For each slot, the id of the shard that owns it.

    Returns:
        The expected loads, of which each shard has the same sum as of `second`.
    """
    levels = np.full(first.size, np.iinfo(np.int64).min)
    busy = first > 0
    levels[busy] = np.rint(np.log(first[busy]) / math.log(_ALIKE))
    loads = np.empty(first.size)
    for owner in np.unique(owners):
        own = owners == owner
        _, level = np.unique(levels[own], return_inverse=True)
        sums, counts = np.bincount(level, second[own]), np.bincount(level)
        loads[own] = (sums / counts)[level]
    return loads


def _read_all(admin: ClusterAdmin, members: Sequence[int]) -> list[np.ndarray]:
    """For each member, what its slots were asked for so far: ids, and bytes."""
    return [
        np.array([list(each) for each in admin.slot_loads(member)], np.float64)
        for member in members
    ]


def _load(before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> np.ndarray:
    """Each slot's part of what was asked for between two readings."""
    counts = sum(map(_since, before, after))
    sums = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0).mean(0)


def _since(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    # A shard that was restarted meanwhile counts from 0.
    return after if (after < before).any() else after - before
