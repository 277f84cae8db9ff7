"""Which shards a cluster has after some were added and removed."""

import numpy as np
import pytest

from persia_tf import errors
from persia_tf.resharding.admin import Member, Topology
from persia_tf.resharding.shards import shards_after


def topology(*addresses, left=()):
    members = tuple(
        Member(place + 1, place, address, address in left)
        for place, address in enumerate(addresses)
    )
    return Topology(7, 1, members, np.empty(0, np.uint64))


def test_all_others_stay():
    now = topology("a:1", "b:1", "c:1", left=["b:1"])
    assert shards_after(now, ["d:1"], ["a:1"]) == ["c:1", "d:1"]


def test_a_repeated_change_changes_nothing():
    now = topology("a:1", "b:1", "c:1", left=["b:1"])
    assert shards_after(now, ["c:1"], ["b:1"]) == ["a:1", "c:1"]


def test_a_shard_that_the_cluster_never_had_is_told():
    with pytest.raises(errors.InvalidArgumentError, match="a:1, b:1. Received: x:1"):
        shards_after(topology("a:1", "b:1"), [], ["x:1"])


def test_the_last_shard_stays():
    with pytest.raises(errors.InvalidArgumentError, match="at least one shard"):
        shards_after(topology("a:1"), [], ["a:1"])
