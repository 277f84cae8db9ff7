"""What `ptf.checkpoint` saves and restores."""

import json
import os

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf.checkpoint import manifest as manifest_lib
from persia_tf.checkpoint import restoring
from persia_tf.checkpoint import shards as shards_lib


def batch(ids):
    return np.arange(ids), np.ones((ids, 1), "float32")


def told_in_restore(run, tmp_path, caplog):
    """Restores the run that was saved, and returns the warnings."""
    caplog.clear()
    with caplog.at_level("WARNING", logger="absl"):
        ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    return caplog.text


def test_what_was_trained_since_is_undone(trained, tmp_path):
    run = trained(2)
    run.step()
    saved = run.rows()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=1, ids=400)
    assert run.rows() != saved
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert run.rows() == saved


def test_training_goes_on_as_if_nothing_had_happened(trained, tmp_path):
    run = trained(2)
    run.step()
    dense = run.model.get_weights()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=1)
    once = run.rows()
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    run.model.set_weights(dense)
    run.step(seed=1)
    assert run.rows() == once


@pytest.mark.parametrize(("count", "other"), [(1, 3), (3, 1), (2, 8), (8, 2)])
def test_any_number_of_shards_restores_any_other(trained, tmp_path, count, other):
    """The original PERSIA divided by zero if there were fewer files than shards."""
    run = trained(count)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    moved = trained(other)
    ptf.checkpoint.restore(tmp_path / "run", cluster=moved.cluster)
    assert moved.rows() == run.rows()


def test_a_program_without_the_table_gets_it_as_it_was(trained, start_shards, tmp_path):
    run = trained(2, optimizer=ptf.optimizers.Adam(0.1))
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    shards = start_shards(3, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards])
    ptf.checkpoint.restore(tmp_path / "run", cluster=cluster)
    assert len(ptf.Table(run.table.name, cluster)) == len(run.rows())


def test_rows_in_the_program_are_saved_too(trained, tmp_path):
    run = trained(0)
    run.step()
    saved = run.rows()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=1, ids=400)
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert run.rows() == saved


def test_rows_may_be_held_otherwise(trained, tmp_path):
    run = trained(2)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    half = trained(2, row_dtype="bfloat16", capacity=10_000)
    ptf.checkpoint.restore(tmp_path / "run", cluster=half.cluster)
    rows = half.rows()
    for one, (weights, state) in run.rows().items():
        assert rows[one][0] == pytest.approx(weights, rel=2**-8)
        assert rows[one][1] == state


def test_rows_beyond_a_shards_share_of_the_capacity_are_told_of(
    trained, tmp_path, caplog
):
    """The whole table has room for them, but not the shards with more ids."""
    run = trained(0, capacity=150)
    run.model.train_on_batch(*batch(150))
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    moved = trained(4, capacity=150)
    for _ in range(2):  # The second time nothing happened in between.
        told = told_in_restore(moved, tmp_path, caplog)
        held = len(moved.table)
        assert held < 150
        assert f"'{moved.table.name}' holds only {held} of the 150 saved rows" in told
        assert told.count("holds only") == 1
    assert "holds only" not in told_in_restore(run, tmp_path, caplog)
    assert len(run.table) == 150


def test_rows_of_increments_beyond_the_capacity_are_told_of(trained, tmp_path, caplog):
    run = trained(2)
    for ids in (100, 150):
        run.model.train_on_batch(*batch(ids))
        ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster, incremental=True)
    moved = trained(2, capacity=120)
    told = told_in_restore(moved, tmp_path, caplog)
    assert f"holds only {len(moved.table)} of up to " in told


def test_evictions_of_tables_that_are_not_restored_are_not_told_of(
    trained, tmp_path, table, caplog
):
    run = trained(2)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    full = trained(0, others=run.addresses, table=f"{table}_full", capacity=50)
    full.step()
    assert len(full.table) <= 50
    assert "holds only" not in told_in_restore(run, tmp_path, caplog)


def test_training_may_go_on_while_it_saves(trained, tmp_path):
    """The original PERSIA held a shard's lock meanwhile (see slow_device_test.cc)."""
    run = trained(2)
    run.step()
    saved = run.rows()
    save = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster, block=False)
    run.step(seed=1, ids=400)
    assert save.wait() == save.folder
    assert save.done()
    ptf.checkpoint.restore(save.folder, cluster=run.cluster)
    assert run.rows() == saved


def test_only_the_newest_are_kept(trained, tmp_path):
    """The original PERSIA could not save twice to one place."""
    run = trained(2)
    run.step()
    saves = [
        ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster, max_to_keep=2)
        for _ in range(4)
    ]
    assert sorted(os.listdir(tmp_path / "run")) == ["ckpt-00000003", "ckpt-00000004"]
    found = ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert found == saves[-1].folder


def test_without_a_manifest_it_is_no_checkpoint(trained, tmp_path):
    run = trained(2)
    run.step()
    first = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    saved = run.rows()
    run.step(seed=1)
    second = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    os.remove(f"{second.folder}/{manifest_lib.FILE_NAME}")
    assert ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster) == first.folder
    assert run.rows() == saved
    third = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    assert third.folder.endswith("ckpt-00000003")


def test_one_that_is_looked_at_too_early_is_found_once_it_is_whole(trained, tmp_path):
    """The original PERSIA ignored for ever what it saw before its marker was there."""
    run = trained(2)
    run.step()
    first = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=1)
    saved = run.rows()
    second = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    manifest = f"{second.folder}/{manifest_lib.FILE_NAME}"
    os.rename(manifest, tmp_path / "kept")
    for _ in range(2):
        found = ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
        assert found == first.folder
    os.rename(tmp_path / "kept", manifest)
    found = ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert found == second.folder
    assert run.rows() == saved


@pytest.mark.parametrize("damage", ["flip", "cut", "remove", "swap"])
def test_a_damaged_file_changes_no_row(trained, tmp_path, damage):
    run = trained(2)
    run.step()
    other = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=1)
    save = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    run.step(seed=2)
    before = run.rows()
    file = tmp_path / "run" / os.path.basename(save.folder) / "shard-00001"
    contents = bytearray(file.read_bytes())
    if damage == "flip":
        contents[len(contents) // 2] ^= 1
        file.write_bytes(contents)
    elif damage == "cut":
        file.write_bytes(contents[:-1])
    elif damage == "remove":
        file.unlink()
    else:
        os.replace(f"{other.folder}/{file.name}", file)
    with pytest.raises(errors.PersiaError, match="shard-00001"):
        ptf.checkpoint.restore(save.folder, cluster=run.cluster)
    assert run.rows() == before
    run.step(seed=3)  # Nothing of the failed save is left.


def test_a_damaged_manifest_is_named(trained, tmp_path):
    run = trained(1)
    save = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    path = f"{save.folder}/{manifest_lib.FILE_NAME}"
    with open(path, "w") as file:
        json.dump({"format": 2, "files": []}, file)
    with pytest.raises(errors.DataLossError, match="MANIFEST.json is damaged"):
        ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)


def test_where_there_is_none_it_says_so(trained, tmp_path):
    run = trained(2)
    with pytest.raises(errors.NotFoundError, match="there is no checkpoint at"):
        ptf.checkpoint.restore(tmp_path / "nothing", cluster=run.cluster)


@pytest.mark.parametrize("shards", [0, 2])
@pytest.mark.parametrize("below", ["", "run"])
def test_a_file_in_the_place_of_the_folder_is_named(trained, tmp_path, shards, below):
    run = trained(shards)
    run.step()
    (tmp_path / "file").touch()
    path = tmp_path / "file" / below
    for incremental in (False, True):
        with pytest.raises(errors.InvalidArgumentError, match="`path` must be a fold"):
            ptf.checkpoint.save(path, cluster=run.cluster, incremental=incremental)
    with pytest.raises(errors.InvalidArgumentError, match=f"Received: path='{path}'"):
        ptf.checkpoint.restore(path, cluster=run.cluster)


def test_another_output_dim_is_refused(trained, start_shards, tmp_path, table):
    run = trained(1)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    shards = start_shards(1, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shards[0].address])
    ptf.layers.PersiaEmbedding(5, table=table, cluster=cluster).build()
    with pytest.raises(
        ValueError, match="output_dim 5, but in the checkpoint it has 4"
    ):
        ptf.checkpoint.restore(tmp_path / "run", cluster=cluster)


@pytest.mark.parametrize("path", ["/etc", "../outside", "a/../../b"])
def test_no_path_leads_out_of_the_root(trained, path):
    run = trained(2)
    with pytest.raises(ValueError, match="a checkpoint's path must"):
        ptf.checkpoint.save(path, cluster=run.cluster)


def test_without_a_root_there_are_no_checkpoints(start_shards, table):
    cluster = ptf.Cluster([start_shards(1)[0].address])
    ptf.layers.PersiaEmbedding(4, table=table, cluster=cluster).build()
    with pytest.raises(errors.FailedPreconditionError, match="--checkpoint-root"):
        ptf.checkpoint.save("run", cluster=cluster)


def test_a_relative_path_is_within_the_root(trained, tmp_path):
    run = trained(2)
    run.step()
    save = ptf.checkpoint.save("run", cluster=run.cluster)
    assert save.folder == "run/ckpt-00000001"
    assert (tmp_path / "run" / "ckpt-00000001" / manifest_lib.FILE_NAME).exists()


def test_an_update_from_before_a_restore_is_refused(trained, tmp_path):
    run = trained(2)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    generations = {shard.generation for shard in run.cluster.stats()}
    assert len(generations) == 1
    assert generations != {0}
    run.step()


def test_a_shard_that_was_restarted_meanwhile_fails_the_save(
    trained, tmp_path, monkeypatch
):
    run = trained(2)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    progress = shards_lib.Shards.progress

    def forget_first(shards, save_id=0):
        shards.forget()  # As after a restart.
        return progress(shards, save_id)

    monkeypatch.setattr(shards_lib.Shards, "progress", forget_first)
    # A restore begins again, as if slots had moved, but not for ever.
    monkeypatch.setattr(restoring, "_MOST_WAIT_SECONDS", 0)
    with pytest.raises(errors.UnavailableError, match="no longer has any record"):
        ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster)
    with pytest.raises(errors.UnavailableError, match="no longer has any record"):
        ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert os.listdir(tmp_path / "run") == ["ckpt-00000001"]


def test_a_save_that_a_shard_refuses_leaves_nothing(trained, start_shards, tmp_path):
    shards = [
        *start_shards(1, checkpoint_root=str(tmp_path)),
        *start_shards(1),
    ]
    cluster = ptf.Cluster([shard.address for shard in shards])
    with pytest.raises(errors.FailedPreconditionError, match="shard 1 of 2"):
        ptf.checkpoint.save("run", cluster=cluster)
    assert not (tmp_path / "run" / "ckpt-00000001").exists()


def test_a_progress_bar_is_shown(trained, tmp_path, capsys):
    run = trained(2)
    run.step()
    ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster, progress=True)
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster, progress=True)
    assert "Restoring" in capsys.readouterr().out
