"""Shards that are killed after a restore, and whose checkpoint is gone then."""

from __future__ import annotations

import shutil

import pytest
from harness import DEADLINE_SECONDS
from training import SeededTraining
from uniform_rows import UniformRows

import persia_tf as ptf

TRAINING = SeededTraining(steps=40)


def cluster_of(shards) -> ptf.Cluster:
    addresses = [shard.address for shard in shards]
    return ptf.Cluster(addresses, timeout=DEADLINE_SECONDS, staleness=0)


def start_two(shard_process, tmp_path, *options):
    return [
        shard_process(
            options=[
                f"--checkpoint-root={tmp_path}/root",
                f"--recovery-folder={tmp_path}/{name}",
                *options,
            ]
        )
        for name in ("a", "b")
    ]


def test_a_restored_checkpoint_may_go_at_once(table, shard_process, tmp_path):
    shards = start_two(shard_process, tmp_path, "--log-sync=system")
    cluster = cluster_of(shards)
    # So many rows that it takes a while to write a base of them.
    rows = UniformRows(table, cluster, count=500_000, dim=16)
    rows.set(1.0)
    ptf.checkpoint.save("saved", cluster=cluster)
    rows.set(2.0)
    ptf.checkpoint.restore("saved", cluster=cluster)
    for shard in shards:
        shard.kill()
    shutil.rmtree(tmp_path / "root" / "saved")
    for shard in shards:
        shard.start()
    assert rows.value() == 1.0


def test_a_shard_that_comes_back_from_checkpoints_says_which_one_is_missing(
    table, shard_process, tmp_path
):
    shards = start_two(shard_process, tmp_path, "--recovery=checkpoint")
    cluster = cluster_of(shards)
    TRAINING.run(table, cluster)
    ptf.checkpoint.save("saved", cluster=cluster)
    ptf.checkpoint.restore("saved", cluster=cluster)
    shards[0].kill()
    elsewhere = tmp_path / "elsewhere"
    shutil.move(tmp_path / "root" / "saved", elsewhere)
    with pytest.raises(AssertionError, match="it ended as it started"):
        shards[0].start()
    assert "needs checkpoint saved/ckpt-00000001" in shards[0].log
    assert "put the checkpoint back" in shards[0].log
    shutil.move(elsewhere, tmp_path / "root" / "saved")
    shards[0].start()
