"""The process's limit of file descriptors, and how many connections fit in it."""

from __future__ import annotations

import logging
import os
import resource

# The number of file descriptors reserved for models' files, logs, and connections that
# are being accepted or closed.
RESERVED = 256

# The smallest limit of connections per listener: with fewer, a server is useless.
_LEAST_CONNECTIONS = 16

_logger = logging.getLogger("persia.serve")


def raise_limit(wanted: int) -> None:
    """Raises the limit of open files if needed, as far as the hard limit allows.

    Args:
        wanted: How many connections need a file descriptor.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted + _used() + RESERVED
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def connections(wanted: int, listeners: int) -> int:
    """Returns the limit of connections per listener.

    The limit is `wanted`, or lower if the process would otherwise have too few file
    descriptors for everything else.

    Args:
        wanted: The desired limit per listener.
        listeners: The number of listeners.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    left = (soft - _used() - RESERVED) // listeners
    if wanted <= left:
        return wanted
    most = max(_LEAST_CONNECTIONS, left)
    _logger.warning(
        "Each of the two APIs accepts %d connections, not %d, since this process can "
        "have at most %d open files: raise that limit (ulimit -n), or lower "
        "--max-connections",
        *(most, wanted, soft),
    )
    return most


def _used() -> int:
    return len(os.listdir("/proc/self/fd"))
