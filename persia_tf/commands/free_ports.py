"""Ports of this machine for processes that are yet to start."""

from __future__ import annotations

import random
import socket

# Below those that the system gives to whoever asks for any: a process may listen only
# seconds after its port was chosen.
_PORTS = range(10_000, 30_000)


def free_ports(count: int) -> list[int]:
    """Returns so many ports of loopback at which nobody listens now."""
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
