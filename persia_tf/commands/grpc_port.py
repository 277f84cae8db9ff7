"""Creates gRPC servers with exclusive ports."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent import futures
from typing import Any

import grpc

from persia_tf import errors
from persia_tf.addresses import Address


def make_server(
    pool: futures.ThreadPoolExecutor,
    options: Sequence[tuple[str, Any]] = (),
    max_calls: int | None = None,
) -> grpc.Server:
    """Creates a server whose port no other process can share.

    Args:
        pool: The threads that run its calls.
        options: Further options of gRPC.
        max_calls: The limit on calls that run or wait for the pool, including streams;
            further calls are refused before they are read. None: no limit.
    """
    # With gRPC's default, two processes could share one port unnoticed.
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
    """Makes a server listen on a port.

    Args:
        server: The server.
        wanted: The address to listen on; port 0 means any free port.
        purpose: The server's purpose, for messages.
        credentials: The TLS credentials; None for no TLS.

    Returns:
        The address on which it listens.

    Raises:
        UnavailableError: If it cannot listen there.
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
