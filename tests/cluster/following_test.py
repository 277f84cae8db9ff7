"""Following shards behind embedding workers, and shards that end and are restarted."""

import numpy as np
import pytest
from followed_copy import FollowedCopy

import persia_tf as ptf
from persia_tf.client.session import TableSettings


def make(table, cluster):
    cluster.create_table(table, TableSettings(4, "uniform", "sgd", 0))
    return ptf.Table(table, cluster)


def exported(rows):
    found = {}
    for page in rows.export():
        found.update(zip(page.ids.tolist(), page.rows.tolist()))
    return found


@pytest.mark.parametrize("workers", [1, 2])
def test_shards_behind_workers_are_followed(start_shards, start_worker, table, workers):
    shards = [shard.address for shard in start_shards(3)]
    cluster = ptf.Cluster([start_worker(shards) for _ in range(workers)], timeout=20)
    rows = make(table, cluster)
    rows.assign(np.arange(300), np.ones((300, 4)))
    copy = FollowedCopy(cluster, len(cluster.shard_stats()))
    assert len(copy.followers) == 3
    assert copy.catch_up(max_rows=50) == 300
    rows.remove(np.arange(100))
    rows.assign([7], [[1, 2, 3, 4]])
    assert copy.catch_up() == 100
    assert copy.rows[table] == exported(rows)


@pytest.mark.parametrize("recovers", [True, False])
def test_a_shard_that_was_killed_and_started_again(
    shard_process, table, tmp_path, recovers
):
    options = [f"--recovery-folder={tmp_path}/log"] if recovers else []
    shard = shard_process(options=options)
    cluster = ptf.Cluster([shard.address], timeout=20)
    rows = make(table, cluster)
    rows.assign(np.arange(300), np.ones((300, 4)))
    copy = FollowedCopy(cluster, 1)
    copy.catch_up()
    rows.assign(np.arange(200, 400), np.zeros((200, 4)))
    copy.poll(0, max_rows=50)
    shard.kill()
    shard.start()
    rows = make(table, cluster)
    rows.assign(np.arange(50), np.full((50, 4), 2))
    copy.catch_up(max_rows=100)
    assert copy.beginnings == [["whole", "whole"]]
    assert copy.rows[table] == exported(rows)
    assert len(copy.rows[table]) == (400 if recovers else 50)


def test_a_follower_of_a_cut_connection_loses_nothing(
    start_shards, start_proxies, table
):
    [shard] = start_shards(1)
    [proxy] = start_proxies([shard.address])
    rows = make(table, ptf.Cluster([shard.address], timeout=20))
    cluster = ptf.Cluster([proxy.address], timeout=20)
    copy = FollowedCopy(cluster, 1)
    for first in range(0, 500, 50):
        rows.assign(np.arange(first, first + 100), np.full((100, 4), first))
        rows.remove(np.arange(first, first + 20))
        proxy.cut()
        copy.poll(0, max_rows=30)
    copy.catch_up()
    assert copy.rows[table] == exported(rows)
