"""Finds free ports on this machine for processes that will start later."""

from __future__ import annotations

import random
import socket

# These ports are below the system's ephemeral ports. A process may start to listen
# seconds after its port was chosen; until then, the system must not assign the port to
# a connection of another process.
_PORTS = range(10_000, 30_000)


def free_ports(count: int) -> list[int]:
    """Returns `count` ports of the loopback address on which nothing listens now."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.SystemRandom().choice(_PORTS)
        if port not in ports and _is_free(port):
            ports.append(port)
    return ports


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
