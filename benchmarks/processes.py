"""What the kernel knows of processes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

_IDLE_SHARE = 0.05


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far, user and system."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory_mb(pid: int) -> float:
    """The largest resident size that a process had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        [line] = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def resident_mb(pid: int) -> float:
    """Memory that a process holds now."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_until_idle(pids: Iterable[int], most_seconds: float = 60.0) -> None:
    """Waits until processes do nothing of their own any more.

    After memory grew fast, a shard joins small pages to huge ones and Redis moves
    to a larger index: that work is part of the growth, not of the steady state.
    """
    pids = list(pids)
    used = sum(map(cpu_seconds, pids))
    give_up = time.monotonic() + most_seconds
    while time.monotonic() < give_up:
        time.sleep(1.0)
        before, used = used, sum(map(cpu_seconds, pids))
        if used - before < _IDLE_SHARE:
            return
