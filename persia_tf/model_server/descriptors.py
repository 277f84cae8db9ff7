"""File descriptors of the process: how many there are, and who may have them."""

from __future__ import annotations

import logging
import os
import resource

# For models' files, for logs, for connections that are accepted or closed just now.
RESERVED = 256

# With fewer connections a server would be of no use.
_LEAST_CONNECTIONS = 16

_logger = logging.getLogger("persia.serve")


def raise_limit(wanted: int) -> None:
    """Lets this process have more descriptors, if it may and is to.

    Args:
        wanted: By how many connections they are needed.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted + _used() + RESERVED
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def connections(wanted: int, listeners: int) -> int:
    """Returns how many connections each listener may have.

    So many are wanted, or fewer, so that descriptors are left for all else.

    Args:
        wanted: By each listener.
        listeners: How many there are.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    left = (soft - _used() - RESERVED) // listeners
    if wanted <= left:
        return wanted
    most = max(_LEAST_CONNECTIONS, left)
    _logger.warning(
        "%d connections are taken by each of gRPC and REST, and not %d, since this "
        "process may have %d files open: raise that (ulimit -n), or lower "
        "--max-connections",
        *(most, wanted, soft),
    )
    return most


def _used() -> int:
    return len(os.listdir("/proc/self/fd"))
