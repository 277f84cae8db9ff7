"""How much memory a shard's tables may take: --memory-limit."""

from __future__ import annotations

import argparse
import os
import re
import resource

from persia_tf.commands import cgroups

_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# Of address space, and of the part of it that is written to.
_PROCESS_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

UNLIMITED = 0

# Of this machine's memory, for the shards of one command. The rest is for
# requests, for what a checkpoint keeps of rows that change, and for others.
DEFAULT_PERCENT = 80.0


def total_bytes() -> int:
    """Returns the memory that this process may have.

    The least of the machine's, the limits of the control group that the process is in
    and of the groups around that, and the process's own limits (`ulimit -v`, `-d`).
    """
    limits = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    limits += cgroups.memory_limits()
    limits += [resource.getrlimit(kind)[0] for kind in _PROCESS_LIMITS]
    return min(value for value in limits if value != resource.RLIM_INFINITY)


def size(text: str) -> int:
    """Reads a number of bytes: "8GiB", "512MiB", "1000000"; at least 1."""
    match = re.fullmatch(r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]iB|B|)", text)
    value = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if value < 1:
        raise argparse.ArgumentTypeError(
            'must be a number of bytes of at least 1, as "8GiB", "512MiB" or '
            f'"1000000", got "{text}"'
        )
    return value


def limit(text: str) -> int:
    """Reads a limit: a size, a share as "80%", or "unlimited", which gives 0."""
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
    """Returns the default limit of each of so many shards on this machine."""
    return f"{DEFAULT_PERCENT / shards:g}%"
