"""`persia reshard --balance load`, of shards that are not equally busy."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf
from harness import wait_until
from resharding import Repeated, reshard

import persia_tf as ptf
from persia_tf.commands.main import parser
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.cluster_state import cluster_state
from persia_tf.resharding.plan import Move

DIM = 4
IDS = np.arange(4000)
HOT = 512
# How many ids are drawn of all for a lookup, beside the hot ones.
DRAWN = 512
MEASURE = "1"


class SkewedLookups:
    """Looks up some ids, of slots of the cluster's first shard, again and again."""

    def __init__(self, table: str, cluster: ptf.Cluster) -> None:
        self._layer = ptf.layers.PersiaEmbedding(DIM, table=table, cluster=cluster)
        self._layer(tf.constant([0], tf.int64), training=False)  # Makes the table.
        rows = np.repeat(IDS[:, None], DIM, axis=1).astype("float32")
        ptf.Table(table, cluster).assign(IDS, rows)
        slots = ptf.following.slots_of(IDS)
        self._hot = IDS[slots < 8192][:HOT]
        self._draw = np.random.default_rng(1)

    def __call__(self) -> None:
        drawn = self._draw.choice(IDS, DRAWN, replace=False)
        ids = np.union1d(self._hot, drawn)
        rows = self._layer(tf.constant(ids, tf.int64), training=False).numpy()
        np.testing.assert_array_equal(rows, np.repeat(ids[:, None], DIM, axis=1))


def state_of(shards, seconds=None):
    with ClusterAdmin([shards[0].address], 20) as admin:
        return cluster_state(admin, measure_seconds=seconds)


@pytest.fixture
def shards(shard_process):
    """Three, of which the first two form the cluster at first."""
    return [shard_process() for _ in range(3)]


@pytest.fixture
def cluster(shards):
    return ptf.Cluster([shard.address for shard in shards[:2]], timeout=20)


def when_balanced(shards):
    """Waits until the shards have the same load, up to what a sample tells."""
    states = []

    def is_balanced() -> bool:
        states.append(state_of(shards, seconds=0.5))
        return states[-1].imbalance < 1.2

    wait_until(is_balanced, "a balanced load")
    return states[-1]


def test_the_shards_share_the_load_afterwards(shards, cluster, table, rows_of):
    lookups = SkewedLookups(table, cluster)
    before = rows_of(table, cluster)
    with Repeated(lookups) as repeated:
        wait_until(lambda: repeated.calls > 10 or not repeated.is_running, "lookups")
        assert state_of(shards, seconds=0.5).imbalance > 1.3
        reshard(shards, shards[:2], "--balance=load", f"--measure={MEASURE}")
        when_balanced(shards)
        reshard(shards, shards, "--balance=load", f"--measure={MEASURE}")
        grown = when_balanced(shards)
        assert len(grown.shards) == 3
        # The busiest slots moved, and no more than were needed.
        assert grown.shards[2].slots < 4000
        reshard(shards, shards[1:], "--balance=load", f"--measure={MEASURE}")
        shrunk = when_balanced(shards[1:])
        assert [shard.address for shard in shrunk.shards] == [
            shard.address for shard in shards[1:]
        ]
    after = rows_of(table, cluster)
    assert after.keys() == before.keys()
    for row_id, row in before.items():
        np.testing.assert_array_equal(after[row_id], row)


def test_without_requests_the_shards_share_the_slots(shards, cluster, table):
    SkewedLookups(table, cluster)
    reshard(shards, shards, "--balance=load", "--measure=0.1")
    assert sorted(shard.slots for shard in state_of(shards).shards) == [
        *(5461, 5461, 5462),
    ]


def test_status_shows_what_moves(shards, cluster, table, capsys):
    SkewedLookups(table, cluster)
    addresses = [shard.address for shard in shards]
    with ClusterAdmin(addresses[:1], 20) as admin:
        taker = admin.join(addresses[2])
        topology = admin.topology()
        source = next(
            each.id for each in topology.present if each.address == addresses[0]
        )
        slots = np.flatnonzero(topology.owners == source)
        # At this rate it takes longer than the test.
        admin.start(Move(source, taker, slots), most_bytes_per_second=1)
        try:
            told = status_of(capsys, addresses[1], "--json")["topology"]
            [move] = told["moves"]
            assert (move["source"], move["taker"]) == (addresses[0], addresses[2])
            assert move["slots"] == slots.size > move["moved"]
            assert [shard["slots"] for shard in told["shards"]] == [8192, 8192, 0]
        finally:
            admin.stop(taker)
        wait_until(
            lambda: not status_of(capsys, addresses[1], "--json")["topology"]["moves"],
            "the move to stop",
        )


def status_of(capsys, *args):
    """Runs `persia status --json`; gives what it prints."""
    parsed = parser().parse_args(["status", *args])
    assert parsed.run(parsed) == 0
    return json.loads(capsys.readouterr().out)
