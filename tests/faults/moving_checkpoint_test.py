"""Checkpoints are saved and restored while slots move from shard to shard."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf.client.session import TableSettings
from persia_tf.resharding.admin import ClusterAdmin
from persia_tf.resharding.driver import reshard

IDS = np.arange(2000)


@contextlib.contextmanager
def moving(shards) -> Iterator[None]:
    """Moves slots from two shards to three and back, again and again."""
    addresses = [shard.address for shard in shards]
    is_ended = threading.Event()
    failures = []

    def move() -> None:
        try:
            with ClusterAdmin(addresses[:1], 20) as admin:
                while not is_ended.is_set():
                    reshard(admin, addresses)
                    reshard(admin, addresses[:2])
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield
    finally:
        is_ended.set()
        thread.join()
    assert not failures


@pytest.fixture
def shards(shard_process, tmp_path):
    options = ["--checkpoint-root", str(tmp_path / "saves")]
    return [shard_process(options=options) for _ in range(3)]


@pytest.fixture
def rows(shards, table):
    """A table of two shards, with rows of zeros."""
    cluster = ptf.Cluster([shard.address for shard in shards[:2]], timeout=60)
    made(table, cluster).assign(IDS, same(IDS, 0))
    return ptf.Table(table, cluster)


def made(table, cluster) -> ptf.Table:
    cluster.create_table(table, TableSettings(4, "zeros", "adagrad", 0))
    return ptf.Table(table, cluster)


def same(ids, number) -> np.ndarray:
    return np.full((len(ids), 4), number, np.float32)


def held_by(rows: ptf.Table) -> dict[int, float]:
    """The first number of each row. No row may be there twice."""
    pages = list(rows.export())
    ids = np.concatenate([page.ids for page in pages])
    firsts = np.concatenate([page.rows[:, 0] for page in pages])
    assert len(set(ids.tolist())) == len(ids)
    return dict(zip(ids.tolist(), firsts.tolist()))


def saved_in(folder, table) -> dict[int, float]:
    cluster = ptf.Cluster.embedded()
    made(table, cluster)
    ptf.checkpoint.restore(folder, cluster=cluster)
    return held_by(ptf.Table(table, cluster))


def test_saves_have_each_row_once(shards, rows, table, tmp_path):
    expected = dict.fromkeys(IDS.tolist(), 0.0)
    saved = []
    with moving(shards):
        for number in range(1, 13):
            changed = IDS[number::7]
            rows.assign(changed, same(changed, number))
            rows.remove([number])
            expected.update(dict.fromkeys(changed.tolist(), float(number)))
            del expected[number]
            save = ptf.checkpoint.save(
                tmp_path / "saves" / "run",
                cluster=rows.cluster,
                incremental=number % 2 == 0,
                max_to_keep=None,
            )
            saved.append((save.folder, dict(expected)))
    for folder, of_save in saved:
        assert saved_in(folder, table) == of_save


def test_a_restore_replaces_the_rows_of_all_slots(shards, rows, tmp_path):
    save = ptf.checkpoint.save(tmp_path / "saves" / "run", cluster=rows.cluster)
    expected = dict.fromkeys(IDS.tolist(), 0.0)
    with moving(shards):
        for number in range(1, 5):
            rows.assign(IDS, same(IDS, number))
            ptf.checkpoint.restore(save.folder, cluster=rows.cluster)
            np.testing.assert_array_equal(rows.lookup(IDS), 0)
    assert held_by(rows) == expected


@pytest.mark.parametrize("keeps_log", [False, True])
@pytest.mark.parametrize("change", ["restored", "created again", "dropped"])
def test_a_shard_that_comes_back_has_the_tables_of_its_cluster(
    shard_process, table, tmp_path, change, keeps_log
):
    options = ["--checkpoint-root", str(tmp_path / "saves")]
    if keeps_log:
        options += ["--recovery-folder", "recovery"]
    shards = [shard_process(options=options) for _ in range(3)]
    addresses = [shard.address for shard in shards]
    cluster = ptf.Cluster(addresses[:2], timeout=60)
    rows = made(table, cluster)
    rows.assign(IDS, same(IDS, 0))
    save = ptf.checkpoint.save(tmp_path / "saves" / "run", cluster=cluster)
    with ClusterAdmin(addresses[:1], 20) as admin:
        reshard(admin, addresses)
        rows.assign(IDS, same(IDS, 1))
        reshard(admin, addresses[:2])
        if change == "restored":
            ptf.checkpoint.restore(save.folder, cluster=cluster)
        else:
            rows.drop()
        if change == "created again":
            made(table, cluster).assign(IDS, same(IDS, 0))
        reshard(admin, addresses)
        if change == "dropped":
            made(table, cluster).assign(IDS, same(IDS, 0))
        rows = ptf.Table(table, cluster)
    if keeps_log:
        shards[2].kill()
        shards[2].start()
    assert held_by(rows) == dict.fromkeys(IDS.tolist(), 0.0)
