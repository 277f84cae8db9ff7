"""Which hosts a server may listen on."""

from __future__ import annotations

import ipaddress
import socket

from persia_tf import errors


def check(host: str, may_others: bool) -> None:
    """Raises if other machines could reach a server at `host` but must not.

    Args:
        host: Name or address to listen on.
        may_others: Whether other machines may reach the server.

    Raises:
        InvalidArgumentError: If other machines could reach it but must not, or if there
            is no such host.
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
        f"other machines would reach {host}, and whoever does may ask the model: "
        "give --tls-certificate, --tls-key and --tls-ca; or listen on 127.0.0.1; or, "
        "where everybody who reaches it may ask, give --insecure"
    )
