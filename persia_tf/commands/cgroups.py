"""What control groups leave a process of the machine's memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_PROCESS = Path("/proc/self")
_ROOT = Path("/")

# Of version 2: beyond `high` the kernel slows a group down until it has less.
_UNIFIED_LIMITS = ("memory.max", "memory.high")
# Of version 1, whose groups tell of those above them, also where a container does
# not see these.
_LEGACY_LIMIT = "memory.limit_in_bytes"
_LEGACY_STAT = "memory.stat"
_LEGACY_STAT_LIMIT = re.compile(r"^hierarchical_memory_limit (\d+)$", re.MULTILINE)


class _Mount(NamedTuple):
    """Where a hierarchy of groups is seen."""

    point: Path
    root: PurePosixPath  # The group that is there.


def memory_limits(process: Path = _PROCESS, root: Path = _ROOT) -> Iterator[int]:
    """Yields the limits of a process's group, and of all groups that it lies in.

    Of version 1 and of version 2, whichever the machine has; both, if it has both. What
    cannot be read is left out, and so is a group without a limit.

    Args:
        process: The process's folder in `/proc`.
        root: Where the machine's files are.
    """
    groups = dict(_groups(process))
    for kind, mount in _mounts(process, root):
        if kind not in groups:
            continue
        for folder in _folders(mount, groups[kind]):
            yield from _limits_of(folder, kind)


def _groups(process: Path) -> Iterator[tuple[str, PurePosixPath]]:
    """The process's group of each version: of "cgroup", where memory has one."""
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
    """The group's folder and those above it, as far up as the mount goes."""
    try:
        names = group.relative_to(mount.root).parts
    except ValueError:
        names = ()  # The mount is of another part of the tree.
    if ".." in names:
        names = ()  # The process has left its namespace's tree.
    for count in range(len(names), -1, -1):
        yield mount.point.joinpath(*names[:count])


def _limits_of(folder: Path, kind: str) -> Iterator[int]:
    texts = [_text(folder / name) for name in _UNIFIED_LIMITS]
    if kind == "cgroup":
        stat = _LEGACY_STAT_LIMIT.search(_text(folder / _LEGACY_STAT))
        texts = [_text(folder / _LEGACY_LIMIT), stat[1] if stat else ""]
    for text in texts:
        if text.strip().isdecimal():  # Not "max", nor nothing.
            yield int(text)


def _text(path: Path) -> str:
    try:
        return os.fsdecode(path.read_bytes())
    except OSError:
        return ""


def _unescaped(field: str) -> str:
    r"""As the kernel writes a path into a table: a space is \040."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
