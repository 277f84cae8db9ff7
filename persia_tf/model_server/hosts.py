"""Checks which hosts a server may listen on."""

from __future__ import annotations

import ipaddress
import socket

from persia_tf import errors


def check(host: str, may_others: bool) -> None:
    """Checks that a server at `host` is reachable from other machines only if allowed.

    Args:
        host: The name or the address to listen on.
        may_others: Whether other machines may reach the server.

    Raises:
        InvalidArgumentError: If other machines could reach the server but must not, or
            if `host` does not exist.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"cannot listen on {host!r}: {error}; give a name or an address of this "
            "machine"
        ) from error
    addresses = {entry[4][0].partition("%")[0] for entry in found}
    if may_others or all(ipaddress.ip_address(each).is_loopback for each in addresses):
        return
    raise errors.InvalidArgumentError(
        f"other machines can reach {host}, so every program on them could use the "
        "model: give --tls-certificate, --tls-key and --tls-ca; or listen on "
        "127.0.0.1; or, if they all may use the model, give --insecure"
    )
