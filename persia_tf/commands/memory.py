"""--memory-limit: how much memory a shard's tables may take."""

from __future__ import annotations

import argparse
import os
import re
import resource

from persia_tf.commands import cgroups

_UNITS = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}

# Limits of the address space, and of its private writable part.
_PROCESS_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

UNLIMITED = 0

# The share of this machine's memory for all shards of one command. The rest is for
# requests, for copies that a checkpoint makes of changing rows, and for other programs.
DEFAULT_PERCENT = 80.0


def total_bytes() -> int:
    """Returns how much memory this process may use, in bytes.

    It is the minimum of the machine's memory, the limits of the process's control group
    and its parents, and the process's own limits (`ulimit -v`, `-d`).
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
    """Reads a limit: a size, a share such as "80%", or "unlimited", which returns 0."""
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
    """Returns the default limit of each shard if this machine runs `shards` of them."""
    return f"{DEFAULT_PERCENT / shards:g}%"
