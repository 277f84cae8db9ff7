"""Incremental checkpoints: chains, what ends a chain, and what a chain needs."""

import json
import os
import pathlib
import shutil
import threading

import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf.checkpoint import manifest as manifest_lib
from persia_tf.checkpoint import shards as shards_lib


@pytest.fixture
def save(tmp_path):
    """Saves a run to one folder; an increment, unless a test asks for a whole save."""

    def do(run, incremental=True, **options):
        return ptf.checkpoint.save(
            tmp_path / "run", cluster=run.cluster, incremental=incremental, **options
        )

    return do


def names(path):
    return sorted(os.listdir(path))


def edit_manifest(folder, **fields):
    path = pathlib.Path(folder, manifest_lib.FILE_NAME)
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


def train(run, seed):
    """Changes rows in several ways."""
    run.step(seed=seed, ids=250)
    run.table.remove(range(seed * 10, seed * 10 + 5))
    run.table.assign([seed, 1000 + seed], [[1.0 + seed] * 4] * 2)
    run.step(steps=1, seed=seed + 100, ids=260)


@pytest.mark.parametrize(("count", "other"), [(0, 2), (1, 3), (3, 1), (2, 2), (2, 8)])
def test_a_chain_is_what_a_whole_one_is(trained, save, tmp_path, count, other):
    run = trained(count)
    run.step()
    assert not save(run).is_incremental  # The first.
    for seed in range(1, 4):
        train(run, seed)
        assert save(run).is_incremental
    rows = run.rows()
    whole = ptf.checkpoint.save(tmp_path / "whole", cluster=run.cluster)
    for path in (tmp_path / "run", whole.folder):
        moved = trained(other)
        ptf.checkpoint.restore(path, cluster=moved.cluster)
        assert moved.rows() == rows


def test_every_one_of_a_chain_can_be_restored(trained, save):
    run = trained(2)
    run.step()
    saves = [(save(run).folder, run.rows())]
    for seed in range(1, 4):
        train(run, seed)
        saves.append((save(run).folder, run.rows()))
    for folder, rows in saves:
        ptf.checkpoint.restore(folder, cluster=run.cluster)
        assert run.rows() == rows


def test_an_increment_has_what_changed_alone(trained, save):
    run = trained(2)
    run.table.assign(range(10000), [[1.0] * 4] * 10000)
    whole = save(run)
    run.table.assign(range(50), [[2.0] * 4] * 50)
    part = save(run)

    def size(folder):
        return sum(file.stat().st_size for file in pathlib.Path(folder).iterdir())

    assert size(part.folder) < size(whole.folder) / 20


def test_evicted_rows_stay_away(trained, save):
    run = trained(2, capacity=100, eviction=ptf.eviction.LRU())
    run.step(ids=80)
    save(run)
    for seed in range(1, 5):
        run.step(steps=1, seed=seed, ids=4000)
    rows = run.rows()
    assert len(rows) <= 100
    save(run)
    moved = trained(2)
    ptf.checkpoint.restore(save(run).folder, cluster=moved.cluster)
    assert moved.rows() == rows


def test_training_goes_on_as_if_nothing_had_happened(trained, save):
    run = trained(2)
    run.step()
    save(run)
    run.step(seed=1)
    dense = run.model.get_weights()
    path = save(run).folder
    run.step(seed=2)
    once = run.rows()
    ptf.checkpoint.restore(path, cluster=run.cluster)
    run.model.set_weights(dense)
    run.step(seed=2)
    assert run.rows() == once


def test_training_may_go_on_while_it_saves(trained, save):
    run = trained(2)
    run.step()
    save(run)
    for seed in range(1, 4):
        train(run, seed)
        saved = run.rows()
        going_on = save(run, block=False)
        run.step(seed=seed, ids=400)
        assert going_on.is_incremental
        moved = trained(1)
        ptf.checkpoint.restore(going_on.wait(), cluster=moved.cluster)
        assert moved.rows() == saved


def test_a_table_that_is_new_is_in_it(trained, save, table):
    run = trained(2)
    run.step()
    save(run)
    ptf.layers.PersiaEmbedding(3, table="0" + table, cluster=run.cluster).build()
    new = ptf.Table("0" + table, run.cluster)
    new.assign(range(40), [[2.0] * 3] * 40)
    save(run)
    new.assign([40], [[3.0] * 3])
    path = save(run).folder
    new.remove(range(41))
    ptf.checkpoint.restore(path, cluster=run.cluster)
    assert len(new) == 41


def test_what_failed_between_is_in_the_next(trained, save, tmp_path, monkeypatch):
    run = trained(2)
    run.step()
    save(run)
    train(run, 1)
    with monkeypatch.context() as patch:

        def fail(*_):
            raise errors.UnavailableError("the disk is full")

        patch.setattr(shards_lib.Shards, "write_file", fail)
        with pytest.raises(errors.UnavailableError):
            save(run)
    assert names(tmp_path / "run") == ["ckpt-00000001"]
    train(run, 2)
    rows = run.rows()
    assert save(run).is_incremental
    moved = trained(1)
    ptf.checkpoint.restore(tmp_path / "run", cluster=moved.cluster)
    assert moved.rows() == rows


def test_a_commit_that_is_lost_costs_a_whole_one(
    trained, save, tmp_path, monkeypatch, caplog
):
    run = trained(2)
    run.step()
    save(run)
    train(run, 1)
    with monkeypatch.context() as patch:

        def fail(*_):
            raise errors.UnavailableError("a shard was restarted")

        patch.setattr(shards_lib.Shards, "commit", fail)
        # The save succeeds all the same, and the older checkpoint, which a shard might
        # still need, is kept.
        folder = save(run, max_to_keep=1).folder
    assert names(tmp_path / "run") == ["ckpt-00000001", "ckpt-00000002"]
    rows = run.rows()
    train(run, 2)
    later = run.rows()
    assert not save(run).is_incremental
    assert "will be a full one" in caplog.text
    ptf.checkpoint.restore(folder, cluster=run.cluster)
    assert run.rows() == rows
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert run.rows() == later


def test_a_restore_a_restart_or_another_folder_make_it_a_whole_one(
    trained, save, tmp_path, caplog
):
    run = trained(2)
    run.step()
    save(run)
    assert "full one" not in caplog.text
    ptf.checkpoint.restore(tmp_path / "run", cluster=run.cluster)
    assert not save(run).is_incremental
    assert caplog.text.count("the next checkpoint will be a full one") == 1
    assert save(run).is_incremental
    ptf.checkpoint.save(tmp_path / "other", cluster=run.cluster)
    assert not save(run).is_incremental
    assert save(run).is_incremental
    restarted = trained(2)
    assert not save(restarted).is_incremental


def test_what_shards_forget_just_before_makes_it_a_whole_one(
    trained, save, tmp_path, monkeypatch
):
    run = trained(2)
    run.step()
    save(run)
    run.step(seed=2)
    begin = shards_lib.Shards.save

    def late(*args):
        monkeypatch.setattr(shards_lib.Shards, "save", begin)
        ptf.checkpoint.save(tmp_path / "other", cluster=run.cluster)
        begin(*args)

    monkeypatch.setattr(shards_lib.Shards, "save", late)
    rows = run.rows()
    made = save(run)
    assert not made.is_incremental
    moved = trained(1)
    ptf.checkpoint.restore(made.folder, cluster=moved.cluster)
    assert moved.rows() == rows
    assert save(run).is_incremental


def test_other_shards_make_it_a_whole_one(trained, save, tmp_path):
    run = trained(2)
    run.step()
    save(run)
    others = trained(1)
    others.step()
    assert not save(others).is_incremental


def test_one_address_is_enough_to_save_all_shards(trained, save, tmp_path):
    run = trained(2)
    run.step()
    rows = run.rows()
    one = ptf.Cluster(run.addresses[:1])
    ptf.checkpoint.save(tmp_path / "one", cluster=one)
    moved = trained(1)
    ptf.checkpoint.restore(tmp_path / "one", cluster=moved.cluster)
    assert moved.rows() == rows


def test_what_a_kept_one_needs_is_kept(trained, save, tmp_path):
    run = trained(1)
    run.step()
    for _ in range(3):
        run.step()
        save(run, max_to_keep=1)
    assert len(names(tmp_path / "run")) == 3
    save(run, incremental=False, max_to_keep=2)
    assert len(names(tmp_path / "run")) == 4
    save(run, max_to_keep=2)
    assert names(tmp_path / "run") == ["ckpt-00000004", "ckpt-00000005"]
    save(run, max_to_keep=1)
    assert len(names(tmp_path / "run")) == 3


def test_nothing_is_removed_where_it_cannot_be_told(trained, save, tmp_path, caplog):
    run = trained(1)
    run.step()
    folders = [save(run).folder for _ in range(3)]
    edit_manifest(folders[1], files=[])
    assert not save(run, max_to_keep=2).is_incremental
    assert "will be a full one" in caplog.text
    assert len(names(tmp_path / "run")) == 4
    assert "were not removed, since" in caplog.text


def damage(folder, how):
    if how == "remove":
        shutil.rmtree(folder)
    elif how == "unfinished":
        os.remove(f"{folder}/{manifest_lib.FILE_NAME}")
    elif how == "manifest":
        edit_manifest(folder, files=[])
    elif how == "another":
        edit_manifest(folder, save_id=77)
    else:
        file = pathlib.Path(folder, "shard-00001")
        contents = bytearray(file.read_bytes())
        contents[len(contents) // 2] ^= 1
        file.write_bytes(contents)


@pytest.mark.parametrize("how", ["remove", "unfinished", "manifest", "another", "file"])
def test_a_parent_that_is_damaged_is_named(trained, save, how):
    run = trained(2)
    folders = []
    for seed in range(3):
        run.step(seed=seed)
        folders.append(save(run).folder)
    damage(folders[1], how)
    before = run.rows()
    with pytest.raises(errors.DataLossError, match=os.path.basename(folders[1])):
        ptf.checkpoint.restore(folders[2], cluster=run.cluster)
    assert run.rows() == before
    ptf.checkpoint.restore(folders[0], cluster=run.cluster)


def test_a_chain_that_bites_its_tail_is_damaged(trained, save):
    run = trained(1)
    run.step()
    first, second = (save(run).folder for _ in range(2))
    save_id = json.loads(pathlib.Path(second, manifest_lib.FILE_NAME).read_text())[
        "save_id"
    ]
    parent = {"name": os.path.basename(second), "save_id": save_id}
    edit_manifest(first, parent=parent)
    with pytest.raises(errors.DataLossError, match="ckpt-0000000[12] twice"):
        ptf.checkpoint.restore(second, cluster=run.cluster)


@pytest.mark.parametrize("name", ["../ckpt-00000001", "..", "", "/tmp"])
def test_a_parent_is_beside_it(trained, save, name):
    run = trained(1)
    run.step()
    folder = [save(run).folder for _ in range(2)][1]
    edit_manifest(folder, parent={"name": name, "save_id": 5})
    with pytest.raises(errors.DataLossError, match="MANIFEST.json is damaged"):
        ptf.checkpoint.restore(folder, cluster=run.cluster)


def test_a_run_may_be_moved_as_a_whole(trained, save, tmp_path):
    run = trained(2)
    run.step()
    save(run)
    train(run, 1)
    save(run)
    rows = run.rows()
    os.rename(tmp_path / "run", tmp_path / "elsewhere")
    moved = trained(1)
    ptf.checkpoint.restore(tmp_path / "elsewhere", cluster=moved.cluster)
    assert moved.rows() == rows


@pytest.mark.parametrize("count", [0, 2])
def test_a_compacted_one_needs_no_other(trained, save, tmp_path, count):
    run = trained(count)
    run.step()
    first = save(run).folder
    for seed in range(1, 4):
        train(run, seed)
        last = save(run).folder
    rows = run.rows()
    assert ptf.checkpoint.compact(tmp_path / "run") == last
    assert ptf.checkpoint.compact(last) == last  # It is compacted already.
    shutil.rmtree(first)
    moved = trained(3)
    ptf.checkpoint.restore(tmp_path / "run", cluster=moved.cluster)
    assert moved.rows() == rows


def test_training_goes_on_beside_a_compaction(trained, save, tmp_path):
    run = trained(2)
    run.step()
    save(run)
    train(run, 1)
    save(run)
    ptf.checkpoint.compact(tmp_path / "run")
    train(run, 2)
    later = save(run, max_to_keep=1)
    assert later.is_incremental
    # The checkpoints that the compacted one needed are removed.
    assert names(tmp_path / "run") == ["ckpt-00000002", "ckpt-00000003"]
    manifest = json.loads((tmp_path / "run/ckpt-00000002/MANIFEST.json").read_text())
    assert manifest["files"] == ["whole-00000", "whole-00001"]
    # A shard that is restarted meanwhile may read the files that it was told of.
    assert set(manifest["files"]) < set(names(tmp_path / "run" / "ckpt-00000002"))
    rows = run.rows()
    moved = trained(1)
    ptf.checkpoint.restore(later.folder, cluster=moved.cluster)
    assert moved.rows() == rows


def test_a_compaction_that_fails_changes_nothing(trained, save, tmp_path):
    run = trained(2)
    run.step()
    first = save(run).folder
    train(run, 1)
    last = save(run).folder
    before = names(last)
    damage(first, "file")
    with pytest.raises(errors.DataLossError, match="shard-00001"):
        ptf.checkpoint.compact(tmp_path / "run")
    assert names(last) == before


def test_a_second_save_does_not_end_the_first(trained, save, tmp_path, monkeypatch):
    run = trained(1)
    run.step()
    refused = threading.Event()
    progress = shards_lib.Shards.progress

    def progress_later(shards, save_id=0):
        if threading.current_thread() is not threading.main_thread():
            assert refused.wait(30)
        return progress(shards, save_id)

    def refuse(*_):
        raise errors.FailedPreconditionError("a save is going on here")

    monkeypatch.setattr(shards_lib.Shards, "progress", progress_later)
    first = ptf.checkpoint.save(tmp_path / "run", cluster=run.cluster, block=False)
    monkeypatch.setattr(shards_lib.Shards, "save", refuse)
    with pytest.raises(errors.FailedPreconditionError):
        ptf.checkpoint.save(tmp_path / "other", cluster=run.cluster)
    refused.set()
    first.wait()
