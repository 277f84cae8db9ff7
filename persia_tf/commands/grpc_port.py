"""gRPC servers, each at a port of its own."""

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
    """Makes a server, whose port no other process can have too.

    Args:
        pool: Runs its calls.
        options: More of gRPC's.
        max_calls: Calls that run or wait for the pool, streams included; the next is
            refused before it is read. None: any number.
    """
    # Without the option two processes could share one port unnoticed.
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
    """Gives a server its port.

    Args:
        server: It.
        wanted: Where it should listen; port 0: any free one.
        purpose: What it does, for messages.
        credentials: Of TLS. None: there is no TLS.

    Returns:
        Where it listens.

    Raises:
        UnavailableError: If it cannot.
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
