"""Parses --memory-limit, which limits the memory of a shard's tables."""

from __future__ import annotations

import argparse
import os
import re
import resource

from persia_tf.processes import cgroups

_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# The limits of a process's address space, and of its private writable memory.
_PROCESS_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

UNLIMITED = 0

# The default limit for all shards of one command together, in percent of this machine's
# memory. The remaining memory is for requests, for copies that a checkpoint makes of
# changing rows, and for other programs.
DEFAULT_PERCENT = 80.0


def total_bytes() -> int:
    """Returns how much memory this process may use, in bytes.

    The result is the minimum of the machine's memory, the limits of the process's
    control group and that group's parents, and the limits of `ulimit -v` and `-d`.
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += cgroups.memory_limits()
    limits += [resource.getrlimit(kind)[0] for kind in _PROCESS_LIMITS]
    return min(value for value in limits if value != resource.RLIM_INFINITY)


def size(text: str) -> int:
    """Parses a number of bytes of at least 1: "8GiB", "512MiB" or "1000000"."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]iB|B|)", text)
    value = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if value < 1:
        raise argparse.ArgumentTypeError(
            'must be a number of bytes of at least 1, such as "8GiB", "512MiB" or '
            f'"1000000", got "{text}"'
        )
    return value


def limit(text: str) -> int:
    """Parses a memory limit, and returns it in bytes; 0 means unlimited.

    The text is a size such as "8GiB", a share such as "80%" of the memory that this
    process may use, or "unlimited".
    """
    if text == "unlimited":
        return UNLIMITED
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if share is None:
        return size(text)
    percent = float(share[1])
    if not 0 < percent <= 100:
        raise argparse.ArgumentTypeError(
            f'a share must be above 0% and at most 100%, got "{text}"'
        )
    return max(1, int(total_bytes() * percent / 100))


def share_of(shards: int) -> str:
    """Returns the default limit of each shard if a command runs `shards` shards."""
    return f"{DEFAULT_PERCENT / shards:g}%"
