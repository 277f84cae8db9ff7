"""A checkpoint does not replace one with rows that a shard has lost since."""

from __future__ import annotations

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
    trained, start_shards, tmp_path, table
):
    run = trained(2)
    run.step()
    # The state in which a program leaves the table if it ends while it makes it.
    settings = session.TableSettings(4, "zeros", "sgd", 0)
    [other] = start_shards(1)
    elsewhere = ptf.Cluster([run.addresses[0], other.address])
    elsewhere.create_table(f"{table}_of_one_shard", settings)
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
