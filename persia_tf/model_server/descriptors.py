"""How many connections fit in the process's limit of file descriptors."""

from __future__ import annotations

import logging
import resource

from persia_tf.processes.descriptors import RESERVED, used

# The smallest limit of connections per listener: with fewer, a server is useless.
_LEAST_CONNECTIONS = 16

_logger = logging.getLogger("persia.serve")


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
    left = (soft - used() - RESERVED) // listeners
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
