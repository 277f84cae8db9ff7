"""Whom a server may listen for."""

from __future__ import annotations

import ipaddress
import socket

from persia_tf import errors


def check(host: str, insecure: bool) -> None:
    """Raises unless others may reach a server there, or cannot.

    Args:
        host: Name or address to listen on.
        insecure: Whether other machines are listened to.

    Raises:
        InvalidArgumentError: If they could reach it, and should not; or if there is
            no such host.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.InvalidArgumentError(
            f"cannot listen on {host!r}: {error}; give a name or an address of this "
            "machine"
        ) from error
    addresses = {entry[4][0].partition("%")[0] for entry in found}
    if insecure or all(ipaddress.ip_address(each).is_loopback for each in addresses):
        return
    raise errors.InvalidArgumentError(
        f"other machines would reach {host}, and whoever does may ask the model: "
        "listen on 127.0.0.1, behind what keeps others out; or, where everybody may "
        "ask, give --insecure"
    )
