"""Clusters of shards for layers."""

from __future__ import annotations

import pytest


@pytest.fixture
def make_shards(start_shards):
    """Starts shards whose rows are up to date in every step; gives their cluster."""
    import persia_tf as ptf

    def make(count):
        addresses = [shard.address for shard in start_shards(count)]
        return ptf.Cluster(addresses, timeout=20, staleness=0)

    return make


@pytest.fixture
def shards(make_shards):
    """A cluster of two shards."""
    return make_shards(2)


@pytest.fixture
def other_shards(make_shards):
    """A cluster of three."""
    return make_shards(3)
