"""Times, memory and children of processes, as the kernel reports them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

_IDLE_SHARE = 0.05


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process so far, user and system."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def exact_cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process so far, to the nanosecond."""
    # The clock of another process, as clock_getcpuclockid(3) names it.
    return time.clock_gettime((~pid << 3) | 2)


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process has started, and those that these have."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # The process has ended meanwhile.
        children.setdefault(parent, []).append(int(name))
    found = list(children.get(pid, ()))
    for each in found:  # Which grows.
        found += children.get(each, ())
    return found


def thread_cpu_seconds(pid: int) -> dict[int, float]:
    """Returns the CPU time so far of each thread of a process, by its id."""
    seconds = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as stat:
                seconds[int(thread)] = int(stat.read().split()[0]) / 1e9
        except (FileNotFoundError, ProcessLookupError):
            pass  # The thread has ended meanwhile.
    return seconds


def reset_peak_memory(pid: int) -> None:
    """Makes `peak_memory_mb` forget what was before."""
    with open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as clear:
        clear.write("5")


def peak_memory_mb(pid: int) -> float:
    """Returns the largest resident size that a process has had."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        [line] = [line for line in status if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def resident_mb(pid: int) -> float:
    """Returns the current resident size of a process."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
        pages = int(statm.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_until_idle(pids: Iterable[int], most_seconds: float = 60.0) -> None:
    """Waits until processes have finished their background work.

    After its memory has grown fast, a shard merges small pages into huge ones, and
    Redis rehashes to a larger index: this work belongs to the growth, not to the steady
    state that is measured.
    """
    pids = list(pids)
    used = sum(map(cpu_seconds, pids))
    give_up = time.monotonic() + most_seconds
    while time.monotonic() < give_up:
        time.sleep(1.0)
        before, used = used, sum(map(cpu_seconds, pids))
        if used - before < _IDLE_SHARE:
            return
