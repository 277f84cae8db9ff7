"""A checkpoint does not replace one with rows that a shard has lost since."""

from __future__ import annotations

import dataclasses
import os

import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf.client import session


def test_a_table_of_which_a_shard_lost_its_part_is_not_saved(
    trained, start_shards, tmp_path, table
):
    others = start_shards(1, checkpoint_root=str(tmp_path))
    run = trained(2, others=[shard.address for shard in others])
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    rows = run.rows()
    [lost] = others
    lost.stop()
    lost.start(lost.port)
    with pytest.raises(errors.FailedPreconditionError) as raised:
        ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    message = str(raised.value)
    assert f"table '{table}' is not whole" in message
    assert f"lack it:\n    {lost.address}\nNothing was saved" in message
    for address in run.addresses[:2]:
        assert f"\n    {address}: " in message
    assert os.listdir(tmp_path / "run") == ["ckpt-00000001"]
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert run.rows() == rows
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)


def test_a_table_that_is_being_made_is_no_reason_not_to_save(
    trained, tmp_path, table, monkeypatch
):
    run = trained(2)
    run.step()
    being_made = f"{table}_being_made"
    settings = session.TableSettings(4, "zeros", "sgd", 0)
    run.cluster.create_table(being_made, settings)
    shard_stats = ptf.Cluster.shard_stats

    def as_one_shard_has_it(cluster):
        first, second = shard_stats(cluster)
        tables = [each for each in second.tables if each.name != being_made]
        return [first, dataclasses.replace(second, tables=tables)]

    monkeypatch.setattr(ptf.Cluster, "shard_stats", as_one_shard_has_it)
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
