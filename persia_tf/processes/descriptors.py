"""The process's limit of file descriptors, which connections need."""

from __future__ import annotations

import os
import resource

# The number of file descriptors reserved for files, logs, and connections that are
# being accepted or closed.
RESERVED = 256


def raise_limit(wanted: int) -> None:
    """Raises the limit of open files if needed, as far as the hard limit allows.

    Args:
        wanted: How many connections need a file descriptor.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted + used() + RESERVED
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def used() -> int:
    """Returns how many file descriptors the process has open."""
    return len(os.listdir("/proc/self/fd"))
