"""Shards in processes whose disk is full: which calls fail, and what goes on.

tests/cc/shard/full_disk_test.cc fills a disk in memory at every byte.
"""

from __future__ import annotations

import errno
import os
import resource
import subprocess

import numpy as np
import pytest
from harness import DEADLINE_SECONDS, wait_until
from uniform_rows import UniformRows

import persia_tf as ptf
from persia_tf import errors

COUNT, DIM = 4000, 16
DISK_BYTES = 32 << 20


class SmallDisk:
    """A file system of its own.

    Args:
        folder: Where it is mounted; it is there.
    """

    reason = "No space left on device"

    def __init__(self, folder) -> None:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", folder]
        try:
            mounted = subprocess.run(mount, capture_output=True, timeout=60)
        except FileNotFoundError:
            pytest.skip("there is no mount(8) to make a small disk with")
        if mounted.returncode != 0:
            pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr!r}")
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, shard) -> None:
        """Leaves no room."""
        with self._filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                while self._takes(file, bytes(size)):
                    pass

    def free(self, shard) -> None:
        """Leaves room again."""
        self._filler.unlink()

    def end(self) -> None:
        subprocess.run(["umount", "--lazy", self.folder], check=True, timeout=60)

    @staticmethod
    def _takes(file, contents: bytes) -> bool:
        try:
            return file.write(contents) > 0
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return False


class LimitedFiles:
    """A process whose files may not grow further, as with `ulimit -f` or a quota.

    Each write that fails sends SIGXFSZ to the process, which ends most programs.

    Args:
        folder: A folder that exists.
    """

    reason = "File too large"

    def __init__(self, folder) -> None:
        self.folder = folder

    def fill(self, shard) -> None:
        """Leaves room for a short log of events only."""
        self._limit(shard, 16 << 10)

    def free(self, shard) -> None:
        """Leaves room again, unless the process has ended since."""
        if shard.is_running:
            self._limit(shard, resource.RLIM_INFINITY)

    def end(self) -> None:
        pass

    @staticmethod
    def _limit(shard, size: int) -> None:
        _, most = resource.prlimit(shard.pid, resource.RLIMIT_FSIZE)
        try:
            resource.prlimit(shard.pid, resource.RLIMIT_FSIZE, (size, most))
        except (PermissionError, ValueError) as error:
            pytest.skip(f"limits of other processes cannot be set here: {error}")


@pytest.fixture(params=[SmallDisk, LimitedFiles], ids=["disk", "limit"])
def disk(request, tmp_path):
    """A folder that can be full, for `shard_process`; it ends after the shards."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = request.param(folder)
    yield made
    made.end()


@pytest.fixture
def start(disk, shard_process, table):
    """Starts a shard; gives the shard, its cluster, and an empty table."""

    def do(*options):
        shard = shard_process(options=options)
        cluster = ptf.Cluster([shard.address], timeout=DEADLINE_SECONDS)
        return shard, cluster, UniformRows(table, cluster, COUNT, DIM)

    return do


def test_a_checkpoint_that_finds_no_room_is_an_error_and_no_more(start, disk):
    shard, cluster, rows = start(f"--checkpoint-root={disk.folder}")
    rows.set(1)
    first = ptf.checkpoint.save("saved", cluster=cluster)
    rows.set(2)
    disk.fill(shard)
    for incremental in (False, True):
        with pytest.raises(errors.PersiaError, match=disk.reason) as refused:
            ptf.checkpoint.save("saved", cluster=cluster, incremental=incremental)
        assert refused.value.code == 8
        assert f"{disk.folder}/saved/ckpt-00000002" in str(refused.value)
    # The shard goes on serving, and what it had saved is unchanged.
    assert rows.value() == 2
    rows.set(3)
    assert os.listdir(disk.folder / "saved") == ["ckpt-00000001"]
    assert ptf.checkpoint.restore("saved", cluster=cluster) == first.folder
    assert rows.value() == 1
    rows.set(4)
    disk.free(shard)
    ptf.checkpoint.save("saved", cluster=cluster)
    rows.set(5)
    ptf.checkpoint.restore("saved", cluster=cluster)
    assert rows.value() == 4
    assert shard.stop() == 0


@pytest.mark.parametrize("sync", ["device", "system"])
def test_a_log_that_finds_no_room_refuses_changes_until_a_restart(start, disk, sync):
    shard, cluster, rows = start(
        f"--recovery-folder={disk.folder}/recovery", f"--log-sync={sync}"
    )
    rows.set(1)
    disk.fill(shard)
    for _ in range(2):
        with pytest.raises(errors.PersiaError, match=disk.reason) as refused:
            rows.set(2)
        assert refused.value.code == 8
        assert f"{disk.folder}/recovery" in str(refused.value)
        assert "restart the shard" in str(refused.value)
    # The shard's own log says so, once.
    wait_until(lambda: "ERROR" in shard.log, "the shard's own log")
    [line] = [line for line in shard.log.splitlines() if "ERROR" in line]
    assert disk.reason in line
    assert "logging has stopped" in line
    # Reads go on.
    assert rows.table.lookup(np.arange(COUNT)).shape == (COUNT, DIM)
    assert shard.is_running
    disk.free(shard)
    # Part of the refused updates may be there: which part is known only after a
    # restart.
    with pytest.raises(errors.PersiaError, match=disk.reason):
        rows.set(2)
    assert shard.stop() == 0
    shard.start()
    # All acknowledged updates are there.
    assert rows.value() in (1, 2)
    rows.set(3)
    shard.kill()
    shard.start()
    assert rows.value() == 3
