"""Tables and checkpoints that must not keep a shard from recovering."""

from __future__ import annotations

import numpy as np
import pytest
from uniform_rows import UniformRows

import persia_tf as ptf
from persia_tf import errors

IDS = np.arange(100, dtype="int64")


def layer_of(table, cluster, **options):
    return ptf.layers.PersiaEmbedding(
        4, table=table, cluster=cluster, optimizer="sgd", **options
    )


def test_a_table_that_was_refused_and_corrected_comes_back(
    shard_process, tmp_path, table
):
    shard = shard_process(
        options=["--memory-limit", "256MiB", "--recovery-folder", str(tmp_path / "log")]
    )
    cluster = ptf.Cluster([shard.address], timeout=20)
    large = ptf.admission.BloomMinCount(1, expected_ids=1_000_000_000)
    with pytest.raises(errors.PersiaError, match="memory limit"):
        layer_of(table, cluster, admission=large).build(())
    small = ptf.admission.BloomMinCount(1, expected_ids=1000)
    rows = np.array(layer_of(table, cluster, admission=small)(IDS, training=True))
    shard.kill()
    shard.start()
    later = ptf.Cluster([shard.address], timeout=21)
    found = layer_of(table, later, admission=small)(IDS)
    np.testing.assert_array_equal(np.array(found), rows)


def test_a_small_checkpoint_is_restored_while_a_large_ones_base_is_written(
    shard_process, tmp_path, table
):
    shard = shard_process(
        options=[
            *("--checkpoint-root", str(tmp_path)),
            *("--recovery-folder", str(tmp_path / "log")),
        ]
    )
    cluster = ptf.Cluster([shard.address], timeout=60)
    large = UniformRows(table, cluster, count=300_000)
    large.set(1)
    ptf.checkpoint.save(tmp_path / "large", cluster=cluster)
    large.table.drop()
    small = UniformRows(f"{table}_small", cluster, count=10)
    small.set(2)
    ptf.checkpoint.save(tmp_path / "small", cluster=cluster)
    for _ in range(3):
        ptf.checkpoint.restore(tmp_path / "large", cluster=cluster)
        ptf.checkpoint.restore(tmp_path / "small", cluster=cluster)
    assert shard.is_running
    assert small.value() == 2
