"""Limits the processor time of processes, with control groups (needs root)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 20_000


@contextlib.contextmanager
def limited(share: float) -> Iterator[Path]:
    """Yields a new group whose processes get a share of one core, together.

    A process joins by writing its id to the file `cgroup.procs` in the group's folder;
    those that it starts later belong to the group too. All must have ended when the
    block ends.

    Args:
        share: Such as 0.25; 2 are two cores.
    """
    name = f"persia_bench_{os.getpid()}_{os.urandom(4).hex()}"
    quota = int(share * _PERIOD_US)
    if (_ROOT / "cgroup.controllers").exists():
        group = _ROOT / name
        group.mkdir()
        (group / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
    else:  # Version 1.
        group = _ROOT / "cpu" / name
        group.mkdir()
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    try:
        yield group
    finally:
        group.rmdir()
