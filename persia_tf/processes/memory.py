"""Parses --memory-limit, which limits the memory of a shard's tables."""

from __future__ import annotations

import argparse
import os
import re
import resource

from persia_tf.base import sizes
from persia_tf.processes import cgroups

# The limits of a process's address space, and of its private writable memory.
_PROCESS_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA)

UNLIMITED = 0

# What a memory limit may be besides a size, for error messages.
_OTHER_LIMITS = (
    ', or a share of the memory that this process may use, such as "50%", or '
    '"unlimited"'
)

# A shard without tables takes some 60 MiB; requests need memory too. In bytes.
LEAST_REST = 128 << 20

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


def size(text: str, otherwise: str = "") -> int:
    """Parses a number of bytes of at least 1: "8GiB", "512MB" or "1000000".

    Args:
        text: A number with a unit of `sizes.with_unit`, or a whole number of bytes.
        otherwise: Text that the error message appends: what else the option may be.
    """
    is_plain = text.isascii() and text.isdecimal()
    value = float(text) if is_plain else sizes.with_unit(text)
    if value is None or not 1 <= value <= sizes.MOST:
        raise argparse.ArgumentTypeError(
            'must be a number of bytes from 1 to 1e18, such as "8GiB", "512MB" or '
            f'"1000000"{otherwise}, got "{text}"'
        )
    return int(text) if is_plain else int(value)


def limit(text: str) -> int:
    """Parses a memory limit, and returns it in bytes; 0 means unlimited.

    The text is a size such as "8GiB" or "8GB", a share such as "80%" of the memory that
    this process may use, or "unlimited".
    """
    if text == "unlimited":
        return UNLIMITED
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if share is None:
        return size(text, _OTHER_LIMITS)
    percent = float(share[1])
    if not 0 < percent <= 100:
        raise argparse.ArgumentTypeError(
            f'a share must be above 0% and at most 100%, got "{text}"'
        )
    return max(1, int(total_bytes() * percent / 100))


def shortage(limit: int) -> str | None:
    """Returns a warning if a memory limit leaves too little for all but tables.

    Args:
        limit: The memory limit of a shard's tables, in bytes; 0 means unlimited.
    """
    total = total_bytes()
    if limit == UNLIMITED or total - limit >= LEAST_REST:
        return None
    return (
        f"tables may take {limit >> 20} MiB of the {total >> 20} MiB that this process "
        f"may use. Less than {LEAST_REST >> 20} MiB remain for the process itself and "
        "for requests, so the kernel may kill it as the tables grow: give it more "
        "memory, or lower --memory-limit"
    )


def share_of(shards: int) -> str:
    """Returns the default limit of each shard if a command runs `shards` shards."""
    return f"{DEFAULT_PERCENT / shards:g}%"
