"""Ports and sockets of servers of libraries, which open their sockets themselves."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator

from persia_tf import errors


def free_port(port: int, purpose: str) -> int:
    """Returns a port of all addresses of this machine on which nothing listens.

    gRPC within TensorFlow sets SO_REUSEPORT, with which two processes could listen on
    the same port without an error.

    Args:
        port: The port; 0 means any free one.
        purpose: What will listen, for messages.

    Raises:
        UnavailableError: If something listens on the port.
    """
    try:
        with socket.create_server(("", port)) as found:
            return found.getsockname()[1]
    except OSError as error:
        raise errors.UnavailableError(
            f"cannot listen on port {port} for {purpose}: {os.strerror(error.errno)}; "
            "choose another port, or 0 for any free one"
        ) from error


def listeners(port: int) -> Iterator[socket.socket]:
    """Yields the sockets of this process that listen on a port, as duplicates."""
    # Listed first, since a duplicate could get the number of the listed folder.
    for descriptor in list(filter(_is_socket, map(int, os.listdir("/proc/self/fd")))):
        try:
            found = socket.socket(fileno=os.dup(descriptor))
        except OSError:  # It is closed by now.
            continue
        if _listens(found) and found.getsockname()[1] == port:
            yield found
        else:
            found.close()


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:  # It is closed by now.
        return False


def _listens(found: socket.socket) -> bool:
    is_internet = found.family in (socket.AF_INET, socket.AF_INET6)
    return is_internet and bool(
        found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    )
