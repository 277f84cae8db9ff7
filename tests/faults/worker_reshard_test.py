"""Training through an embedding worker, while the shards behind it change."""

from __future__ import annotations

import sys

import pytest
from counting import Counting
from harness import wait_until
from resharding import Repeated, reshard

import persia_tf as ptf

PERSIA_WORKER = (sys.executable, "-m", "persia_tf.commands.main", "worker")
# Training goes on for so many steps between two changes of the shards.
STEPS = 20


@pytest.fixture
def shards(shard_process):
    """Three, of which the first two form the cluster at first."""
    return [shard_process() for _ in range(3)]


@pytest.fixture
def start_worker_of(shard_process):
    """Starts an embedding worker of shards, as a process of its own."""

    def start(shards, *options):
        listed = ",".join(shard.address for shard in shards)
        return shard_process(
            command=PERSIA_WORKER, options=[f"--ps={listed}", *options]
        )

    return start


def train_on(training, counting) -> None:
    """Waits for more steps of a training, or for its error."""
    target = counting.steps + STEPS
    wait_until(
        lambda: counting.steps >= target or not training.is_running, "more steps"
    )
    assert training.is_running


@pytest.mark.parametrize("cache_rows", [0, 200])
def test_each_update_is_applied_once(shards, start_worker_of, table, cache_rows):
    worker = start_worker_of(shards[:2], f"--cache-rows={cache_rows}")
    cluster = ptf.Cluster([worker.address], timeout=20)
    counting = Counting(table, cluster)
    with Repeated(counting) as training:
        for _ in range(2):
            for wanted in (shards, shards[:2]):
                train_on(training, counting)
                reshard(shards, wanted)
        train_on(training, counting)
    cluster.flush()
    assert counting.wrong_rows() == {}


def test_a_worker_whose_listed_shards_have_left_goes_on(shards, start_worker_of, table):
    worker = start_worker_of(shards[:2])
    cluster = ptf.Cluster([worker.address], timeout=20)
    counting = Counting(table, cluster)
    with Repeated(counting) as training:
        train_on(training, counting)
        reshard(shards, shards)
        train_on(training, counting)
        reshard(shards, shards[2:])
        train_on(training, counting)
        for shard in shards[:2]:
            shard.kill()
        train_on(training, counting)
    cluster.flush()
    assert counting.wrong_rows() == {}
