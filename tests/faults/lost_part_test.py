"""A shard that lost its part of a table, and a trainer that is started again.

An earlier version silently made the part again on that shard, and the trainer continued
with half of the rows at their initial values.
"""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from harness import DEADLINE_SECONDS
from training import SeededTraining, assert_same_rows

import persia_tf as ptf
from persia_tf import errors

TRAINING = SeededTraining(steps=40)


def cluster_of(shards, run: int) -> ptf.Cluster:
    """The cluster of the program's start number `run`; no two share a session."""
    addresses = [shard.address for shard in shards]
    return ptf.Cluster(addresses, timeout=DEADLINE_SECONDS + run, staleness=0)


def rows_on(shard) -> dict[str, int]:
    """The shard's parts of tables, by their names."""
    [process] = ptf.Cluster([shard.address], timeout=DEADLINE_SECONDS).stats()
    return {part.name: part.rows for part in process.tables}


def assert_refused(table, shards, lost: int) -> None:
    """Checks that a trainer that starts now gets an error, and changes nothing."""
    with pytest.raises(errors.FailedPreconditionError) as raised:
        TRAINING.run(table, cluster_of(shards, run=1))
    message = str(raised.value)
    holding, lacking = re.search(
        r"hold it:(.*)lack it:(.*)Nothing was changed", message, re.DOTALL
    ).groups()
    for number, shard in enumerate(shards):
        assert (shard.address in lacking) == (number == lost), message
        assert (shard.address in holding) == (number != lost), message
        if number != lost:
            assert f"{shard.address}): {rows_on(shard)[table]} rows" in holding
    for remedy in ("ptf.checkpoint.restore", ".drop()", "recovery folder"):
        assert remedy in message
    assert rows_on(shards[lost]) == {}


def assert_trains(table, shards, rows_of, expected: dict | None) -> None:
    """Checks that a trainer that starts now continues from the expected rows."""
    cluster = cluster_of(shards, run=2)
    if expected is not None:
        assert_same_rows(rows_of(table, cluster), expected)
    TRAINING.run(table, cluster)
    assert all(rows_on(shard)[table] for shard in shards)


@pytest.fixture
def lost(table, shard_process, tmp_path, rows_of):
    """Trains on `count` shards, saves, and restarts the last shard without its part.

    Returns the shards and the rows that they had.
    """

    def make(count: int):
        options = [f"--checkpoint-root={tmp_path}/root"]
        shards = [shard_process(options=options) for _ in range(count)]
        cluster = cluster_of(shards, run=0)
        TRAINING.run(table, cluster)
        rows = rows_of(table, cluster)
        ptf.checkpoint.save("saved", cluster=cluster)
        shards[-1].kill()
        shards[-1].start()
        return shards, rows

    return make


@pytest.mark.parametrize("count", [2, 3])
def test_a_restored_checkpoint_brings_the_table_back(table, lost, rows_of, count):
    shards, rows = lost(count)
    assert_refused(table, shards, lost=count - 1)
    ptf.checkpoint.restore("saved", cluster=cluster_of(shards, run=1))
    assert_trains(table, shards, rows_of, rows)


def test_its_recovery_folder_brings_the_part_back(
    table, shard_process, tmp_path, rows_of
):
    folders = [tmp_path / "recovery" / name for name in ("a", "b")]
    shards = [
        shard_process(options=[f"--recovery-folder={folder}", "--log-sync=system"])
        for folder in folders
    ]
    cluster = cluster_of(shards, run=0)
    TRAINING.run(table, cluster)
    rows = rows_of(table, cluster)
    shards[0].kill()
    elsewhere = tmp_path / "elsewhere"
    folders[0].rename(elsewhere)
    shards[0].start()
    assert_refused(table, shards, lost=0)
    shards[0].kill()
    shutil.rmtree(folders[0])
    elsewhere.rename(folders[0])
    shards[0].start()
    assert_trains(table, shards, rows_of, rows)


def test_a_table_that_is_dropped_begins_anew(table, lost, rows_of):
    shards, _ = lost(2)
    assert_refused(table, shards, lost=1)
    ptf.Table(table, cluster_of(shards, run=1)).drop()
    assert_trains(table, shards, rows_of, None)


def test_shards_that_all_begin_anew_are_a_new_cluster(table, lost, rows_of):
    shards, _ = lost(2)
    shards[0].kill()
    shards[0].start()
    assert_trains(table, shards, rows_of, None)


def test_a_trainer_that_runs_on_never_makes_the_part_anew(table, lost):
    shards, _ = lost(2)
    cluster = cluster_of(shards, run=0)  # Of the program that trained.
    ids = np.arange(100)
    with pytest.raises(errors.NotFoundError, match=shards[1].address):
        ptf.Table(table, cluster).lookup(ids)
    with pytest.raises(errors.FailedPreconditionError, match="is not whole"):
        TRAINING.run(table, cluster)
    assert rows_on(shards[1]) == {}


def test_a_shard_of_another_cluster_is_told_apart(table, shard_process):
    clusters = [[shard_process() for _ in range(2)] for _ in range(2)]
    for shards in clusters:
        TRAINING.run(table, cluster_of(shards, run=0))
    mixed = [clusters[0][0], clusters[1][1]]
    with pytest.raises(errors.FailedPreconditionError) as raised:
        TRAINING.run(table, cluster_of(mixed, run=0))
    message = str(raised.value)
    assert "shards of several clusters" in message
    for shard in mixed:
        assert shard.address in message
