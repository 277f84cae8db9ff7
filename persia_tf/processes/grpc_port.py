"""Creates gRPC servers whose ports no other process can share."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent import futures
from typing import Any

import grpc

from persia_tf import errors
from persia_tf.base.addresses import Address


def make_server(
    pool: futures.ThreadPoolExecutor,
    options: Sequence[tuple[str, Any]] = (),
    max_calls: int | None = None,
) -> grpc.Server:
    """Creates a gRPC server whose port no other process can share.

    Args:
        pool: The threads that run the server's calls.
        options: Further gRPC options of the server.
        max_calls: The maximum number of calls, including streams, that run or wait for
            a thread of the pool. Further calls are refused before they are read. None
            sets no limit.
    """
    # By default gRPC sets SO_REUSEPORT, with which two processes could listen on the
    # same port without an error.
    return grpc.server(
        pool,
        options=[("grpc.so_reuseport", 0), *options],
        maximum_concurrent_rpcs=max_calls,
    )


def listen(
    server: grpc.Server,
    wanted: Address,
    purpose: str,
    credentials: grpc.ServerCredentials | None = None,
) -> Address:
    """Adds a port to a gRPC server.

    Args:
        server: The server.
        wanted: The address to listen on; port 0 means any free port.
        purpose: The server's purpose, for messages.
        credentials: The TLS credentials; None for no TLS.

    Returns:
        The address on which the server listens.

    Raises:
        UnavailableError: If the server cannot listen on that address.
    """
    try:
        if credentials is None:
            port = server.add_insecure_port(str(wanted))
        else:
            port = server.add_secure_port(str(wanted), credentials)
    except RuntimeError as error:
        raise errors.UnavailableError(
            f"cannot listen on {wanted} for {purpose}; choose another port, or 0 for "
            "any free one"
        ) from error
    return wanted._replace(port=port)
