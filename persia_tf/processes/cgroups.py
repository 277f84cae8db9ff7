"""The memory limits of a process's control groups."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_PROCESS = Path("/proc/self")
_ROOT = Path("/")

# The files with a control group's memory limits in cgroup v2. `memory.high` also counts
# as a limit, since the kernel throttles the processes of a group that exceeds it.
_UNIFIED_LIMITS = ("memory.max", "memory.high")
# The files with a control group's memory limits in cgroup v1. `memory.stat` also has
# the limits of parent groups, even of parents that are not visible in a container.
_LEGACY_LIMIT = "memory.limit_in_bytes"
_LEGACY_STAT = "memory.stat"
_LEGACY_STAT_LIMIT = re.compile(r"^hierarchical_memory_limit (\d+)$", re.MULTILINE)


class _Mount(NamedTuple):
    """A mount of a hierarchy of control groups."""

    point: Path
    root: PurePosixPath  # The path of the group that is mounted at `point`.


def memory_limits(process: Path = _PROCESS, root: Path = _ROOT) -> Iterator[int]:
    """Yields the memory limits of a process's control group and of its parents.

    The limits are read from the files of cgroup v1, v2 or both, as mounted on the
    machine. Files that cannot be read, and groups without a limit, are skipped.

    Args:
        process: The process's folder in `/proc`.
        root: The root folder of the file system.
    """
    groups = dict(_groups(process))
    for kind, mount in _mounts(process, root):
        if kind not in groups:
            continue
        for folder in _folders(mount, groups[kind]):
            yield from _limits_of(folder, kind)


def _groups(process: Path) -> Iterator[tuple[str, PurePosixPath]]:
    """Yields the kind and the path of each control group that limits memory.

    The kind is "cgroup2" for the process's cgroup v2 group, and "cgroup" for its memory
    group of cgroup v1.
    """
    for line in _text(process / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield "cgroup2", PurePosixPath(path)
        elif "memory" in controllers.split(","):
            yield "cgroup", PurePosixPath(path)


def _mounts(process: Path, root: Path) -> Iterator[tuple[str, _Mount]]:
    for line in _text(process / "mountinfo").splitlines():
        mount, separator, source = line.partition(" - ")
        fields, kinds = mount.split(), source.split()
        if not separator or len(fields) < 5 or len(kinds) < 3:
            continue
        kind, options = kinds[0], kinds[2].split(",")
        if kind == "cgroup2" or (kind == "cgroup" and "memory" in options):
            point = root / _unescaped(fields[4]).lstrip("/")
            yield kind, _Mount(point, PurePosixPath(_unescaped(fields[3])))


def _folders(mount: _Mount, group: PurePosixPath) -> Iterator[Path]:
    """Yields the folders of a group and of its parents, up to the mount point."""
    try:
        names = group.relative_to(mount.root).parts
    except ValueError:
        # The mount does not contain the group, so yield only the mount point.
        names = ()
    if ".." in names:
        # The group is outside of the process's cgroup namespace, so it has no folder:
        # yield only the mount point.
        names = ()
    for count in range(len(names), -1, -1):
        yield mount.point.joinpath(*names[:count])


def _limits_of(folder: Path, kind: str) -> Iterator[int]:
    texts = [_text(folder / name) for name in _UNIFIED_LIMITS]
    if kind == "cgroup":
        stat = _LEGACY_STAT_LIMIT.search(_text(folder / _LEGACY_STAT))
        texts = [_text(folder / _LEGACY_LIMIT), stat[1] if stat else ""]
    for text in texts:
        if text.strip().isdecimal():  # "max" and an empty text mean no limit.
            yield int(text)


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def _unescaped(field: str) -> str:
    r"""Decodes the kernel's octal escapes in a path, such as \040 for a space."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
