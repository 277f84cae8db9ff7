"""Keeps servers to programs of this machine."""

from __future__ import annotations

import ipaddress
import os
import socket

from persia_tf import errors
from persia_tf.processes import listening_ports


def is_loopback(host: str) -> bool:
    """Returns whether a host is this machine alone: 127.0.0.1, ::1 or localhost.

    Args:
        host: The name or the address to listen on.

    Raises:
        InvalidArgumentError: If there is no such host.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"cannot listen on {host!r}: {error}; give a name or an address of this "
            "machine"
        ) from error
    addresses = {entry[4][0].partition("%")[0] for entry in found}
    return all(ipaddress.ip_address(each).is_loopback for each in addresses)


def refuse_other_machines(port: int, purpose: str) -> None:
    """Makes the sockets of this process that listen on a port refuse other machines.

    It is for servers of libraries that listen on all addresses of the machine.

    Args:
        port: The port, on which a server of this process already listens.
        purpose: What listens, for messages.

    Raises:
        FailedPreconditionError: If the system does not allow it.
    """
    for listener in listening_ports.listeners(port):
        with listener:
            try:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo\0")
            except OSError as error:
                raise errors.FailedPreconditionError(
                    f"cannot keep {purpose} on port {port} to this machine alone, "
                    f"which needs Linux 5.7 or newer: {os.strerror(error.errno)}. If "
                    "every program that reaches the port may use it, give --host with "
                    "another address of this machine, and --insecure"
                ) from error
