"""What control groups say about memory: trees of files, and a real group."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from persia_tf.processes import cgroups

GIB = 2**30
UNIFIED = "/sys/fs/cgroup"
LEGACY = "/sys/fs/cgroup/memory"
UNLIMITED_V1 = 9223372036854771712


class Machine:
    """A process in control groups, represented by files below a folder."""

    def __init__(self, folder):
        self.root = folder / "root"
        self.process = folder / "proc"
        self.process.mkdir(parents=True)
        self.root.mkdir()
        self._mounts = ["25 1 8:1 / / rw shared:1 - ext4 /dev/sda1 rw"]

    def groups(self, *lines):
        (self.process / "cgroup").write_text("\n".join(lines) + "\n")

    def mount(self, kind, point, root="/", options="rw", optional="shared:9 "):
        self._mounts.append(
            f"30 25 0:26 {root} {point} rw,nosuid {optional}- {kind} {kind} {options}"
        )
        (self.process / "mountinfo").write_text("\n".join(self._mounts) + "\n")

    def put(self, path, value):
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")

    def limit(self):
        return min(cgroups.memory_limits(self.process, self.root), default=None)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def unified(machine):
    """A process in /a/b of a machine with control groups of version 2."""
    machine.groups("0::/a/b")
    machine.mount("cgroup2", UNIFIED)
    return machine


@pytest.fixture
def legacy(machine):
    """A process in /a/b of a machine with control groups of version 1."""
    machine.groups("5:devices:/", "4:cpu,memory:/a/b", "0::/")
    machine.mount("cgroup", f"{UNIFIED}/devices", options="rw,devices")
    machine.mount("cgroup", LEGACY, options="rw,cpu,memory", optional="")
    return machine


def test_its_own_group_counts(unified):
    unified.put(f"{UNIFIED}/a/b/memory.max", GIB)
    unified.put(f"{UNIFIED}/a/memory.max", "max")
    assert unified.limit() == GIB


@pytest.mark.parametrize("least", ["a/b", "a", "."])
def test_the_least_of_its_groups_counts(unified, least):
    for folder in ("a/b", "a", "."):
        unified.put(f"{UNIFIED}/{folder}/memory.max", 4 * GIB)
    unified.put(f"{UNIFIED}/{least}/memory.max", GIB)
    assert unified.limit() == GIB


def test_where_a_group_is_slowed_down_counts(unified):
    unified.put(f"{UNIFIED}/a/b/memory.max", 4 * GIB)
    unified.put(f"{UNIFIED}/a/memory.high", GIB)
    assert unified.limit() == GIB


def test_other_groups_do_not_count(unified):
    unified.put(f"{UNIFIED}/a/b/memory.max", "max")
    unified.put(f"{UNIFIED}/a/b/c/memory.max", GIB)
    unified.put(f"{UNIFIED}/other/memory.max", GIB)
    assert unified.limit() is None


@pytest.mark.parametrize("least", ["a/b", "a", "."])
def test_of_version_1_the_least_of_its_groups_counts(legacy, least):
    for folder in ("a/b", "a", "."):
        legacy.put(f"{LEGACY}/{folder}/memory.limit_in_bytes", UNLIMITED_V1)
    legacy.put(f"{LEGACY}/{least}/memory.limit_in_bytes", GIB)
    assert legacy.limit() == GIB


def test_of_version_1_groups_that_are_out_of_sight_count(machine):
    machine.groups("4:memory:/kubepods/pod1/container1")
    root = "/kubepods/pod1/container1"
    machine.mount("cgroup", LEGACY, root=root, options="rw,memory")
    machine.put(f"{LEGACY}/memory.limit_in_bytes", UNLIMITED_V1)
    machine.put(f"{LEGACY}/memory.stat", f"cache 7\nhierarchical_memory_limit {GIB}")
    assert machine.limit() == GIB


def test_both_versions_count_where_there_are_both(legacy):
    legacy.mount("cgroup2", f"{UNIFIED}/unified")
    legacy.put(f"{LEGACY}/a/b/memory.limit_in_bytes", 2 * GIB)
    legacy.put(f"{UNIFIED}/unified/memory.max", GIB)
    assert legacy.limit() == GIB


def test_a_container_with_a_namespace_sees_its_group_at_the_root(machine):
    machine.groups("0::/")
    machine.mount("cgroup2", UNIFIED)
    machine.put(f"{UNIFIED}/memory.max", GIB)
    assert machine.limit() == GIB


@pytest.mark.parametrize("below", ["", "/worker"])
def test_a_container_without_a_namespace_sees_its_group_at_the_mount(machine, below):
    machine.groups(f"0::/kubepods/pod1/c1{below}")
    machine.mount("cgroup2", UNIFIED, root="/kubepods/pod1/c1")
    machine.put(f"{UNIFIED}{below}/memory.max", GIB)
    assert machine.limit() == GIB


@pytest.mark.parametrize("group", ["/elsewhere", "/../other", "/kubepods2/x"])
def test_a_group_that_is_not_below_the_mount_leaves_the_mounts_own(machine, group):
    machine.groups(f"0::{group}")
    machine.mount("cgroup2", UNIFIED, root="/kubepods")
    machine.put(f"{UNIFIED}/memory.max", GIB)
    machine.put("sys/fs/other/memory.max", 1)
    assert machine.limit() == GIB


def test_a_process_that_left_its_namespace_reads_nothing_beyond_the_mount(machine):
    machine.groups("0::/../other")
    machine.mount("cgroup2", UNIFIED)
    machine.put("sys/fs/other/memory.max", 1)
    machine.put(f"{UNIFIED}/memory.max", GIB)
    assert machine.limit() == GIB


def test_names_may_have_spaces(machine):
    machine.groups("0::/a group:x")
    machine.mount("cgroup2", r"/my\040groups")
    machine.put("/my groups/a group:x/memory.max", GIB)
    assert machine.limit() == GIB


def test_what_cannot_be_read_is_left_out(machine):
    assert machine.limit() is None
    machine.groups("", "nonsense", "0:", "0::/a")
    (machine.process / "mountinfo").write_text("\nx - y\n1 2 3\n- cgroup2 a b\n")
    assert machine.limit() is None
    machine.mount("cgroup2", UNIFIED)
    assert machine.limit() is None
    machine.put(f"{UNIFIED}/a/memory.max", "much")
    machine.put(f"{UNIFIED}/memory.max", GIB)
    assert machine.limit() == GIB


@contextlib.contextmanager
def real_group(limit):
    """Makes a control group within this process's own; skips the test if it cannot."""
    mounts = dict(cgroups._mounts(Path("/proc/self"), Path("/")))
    groups = dict(cgroups._groups(Path("/proc/self")))
    for kind, file in (("cgroup", "memory.limit_in_bytes"), ("cgroup2", "memory.max")):
        if kind not in mounts or kind not in groups:
            continue
        parent = next(cgroups._folders(mounts[kind], groups[kind]))
        folder = parent / f"persia-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / file).write_text(str(limit))
        except OSError:
            folder.rmdir()
            continue
        inner = folder / "inner"
        inner.mkdir()
        try:
            yield inner
        finally:
            inner.rmdir()
            folder.rmdir()
        return
    pytest.skip("this machine lets nobody here make a group with a limit of memory")


def test_a_process_in_a_group_within_a_group_has_the_outer_ones_memory():
    limit = 600 * 2**20
    program = "from persia_tf.processes import memory; print(memory.limit('50%'))"
    with real_group(limit) as group:
        join = f'echo $$ > "{group}/cgroup.procs" && exec "$@"'
        command = ["sh", "-c", join, "sh", sys.executable, "-c", program]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) == limit // 2
