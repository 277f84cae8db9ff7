"""Shards whose log was damaged while they were down: they say so, and lose no more."""

from __future__ import annotations

import re
import shutil

import pytest
from harness import DEADLINE_SECONDS, wait_until
from training import SeededTraining, assert_same_rows

import persia_tf as ptf

TRAINING = SeededTraining(steps=40)


def cluster_of(shard) -> ptf.Cluster:
    return ptf.Cluster([shard.address], timeout=DEADLINE_SECONDS, staleness=0)


def newest_segment(folder):
    return max(folder.glob("log-*"), key=lambda path: path.stat().st_size)


def flip_a_bit(path, at: int) -> None:
    contents = bytearray(path.read_bytes())
    contents[at] ^= 1
    path.write_bytes(contents)


def why_it_does_not_start(shard, *options: str) -> str:
    """The log output of a shard that ends while it starts."""
    before = len(shard.log)
    with pytest.raises(AssertionError, match="it ended as it started"):
        shard.start(options)
    return shard.log[before:]


@pytest.fixture(params=["device", "system"])
def trained(request, table, shard_process, tmp_path, rows_of):
    """A shard that trained and was killed; gives it, its log's folder and its rows."""
    folder = tmp_path / "recovery"
    shard = shard_process(
        options=[f"--recovery-folder={folder}", f"--log-sync={request.param}"]
    )
    cluster = cluster_of(shard)
    TRAINING.run(table, cluster)
    rows = rows_of(table, cluster)
    shard.kill()
    return shard, folder, rows


def test_a_flipped_bit_before_intact_records_is_an_error(table, trained, rows_of):
    shard, folder, rows = trained
    segment = newest_segment(folder)
    intact = segment.read_bytes()
    flip_a_bit(segment, len(intact) // 2)
    why = why_it_does_not_start(shard)
    assert str(segment) in why
    assert "has no intact record" in why
    segment.write_bytes(intact)
    shard.start()
    assert_same_rows(rows_of(table, cluster_of(shard)), rows)


def test_what_follows_damage_is_lost_only_where_that_is_asked_for(
    table, shard_process, tmp_path, rows_of
):
    folder = tmp_path / "recovery"
    shard = shard_process(options=[f"--recovery-folder={folder}", "--log-sync=system"])
    cluster = cluster_of(shard)
    TRAINING.run(table, cluster)
    rows = rows_of(table, cluster)
    shard.kill()
    segment = newest_segment(folder)
    flip_a_bit(segment, segment.stat().st_size // 2)
    why = why_it_does_not_start(shard)
    accept = re.search(r"--lose-log-from=(\d+)", why)
    assert accept, why
    # It does not start if the option names another record.
    other = f"--lose-log-from={int(accept[1]) + 1}"
    assert "has no intact record" in why_it_does_not_start(shard, other)
    shard.start([accept[0]])
    assert re.search(r" WARNING .*left out the last \d+ bytes", shard.log), shard.log
    left = rows_of(table, cluster_of(shard))
    assert left
    assert left.keys() <= rows.keys()
    # The log continues from there, and the option is no longer needed.
    TRAINING.run(table, cluster_of(shard))
    rows = rows_of(table, cluster_of(shard))
    shard.kill()
    shard.start()
    assert_same_rows(rows_of(table, cluster_of(shard)), rows)


def test_a_torn_tail_is_told_as_a_warning(table, trained, rows_of):
    shard, folder, rows = trained
    segment = newest_segment(folder)
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size - 5)
    shard.start()
    told = [line for line in shard.log.splitlines() if "left out" in line]
    assert len(told) == 1, shard.log
    assert " WARNING " in told[0]
    assert str(segment) in told[0]
    assert re.search(r"the last \d+ bytes", told[0])
    assert rows_of(table, cluster_of(shard)).keys() <= rows.keys()


def test_a_base_without_its_log_is_an_error(table, shard_process, tmp_path):
    folder = tmp_path / "recovery"
    shard = shard_process(options=[f"--recovery-folder={folder}", "--log-size=4000"])
    TRAINING.run(table, cluster_of(shard))
    wait_until(lambda: list(folder.glob("base-*[0-9a-f]")), "a base")
    shard.kill()
    lost = folder.parent / "lost"
    lost.mkdir()
    for segment in folder.glob("log-*"):
        shutil.move(segment, lost)
    why = why_it_does_not_start(shard)
    assert "base-" in why
    assert str(folder) in why
