"""Parses the addresses of shards: "host:port", or "[host]:port" for IPv6."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from persia_tf import errors

SHARDS_VARIABLE = "PERSIA_PS"

# The port of the metrics of a program that trains.
METRICS_PORT_VARIABLE = "PERSIA_METRICS_PORT"

# The address of the dispatcher of data workers.
DATA_VARIABLE = "PERSIA_DATA"


class Address(NamedTuple):
    """A host and a port; `str()` gives "host:port", or "[host]:port" for IPv6."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse(text: str) -> Address:
    """Parses the address of one shard.

    Example:

    >>> parse("[::1]:7000")
    Address(host='::1', port=7000)

    Args:
        text: "host:port" or "[v6 address]:port".

    Returns:
        The address; its host has no brackets.

    Raises:
        InvalidArgumentError: If the host is missing, the port is not from 1 to
            65535, or an IPv6 address has no brackets.
    """
    host, _, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif "://" in text:
        raise errors.InvalidArgumentError(
            f"an address is host:port, without a scheme as in http://, got {text!r}"
        )
    elif ":" in host:
        raise errors.InvalidArgumentError(
            f"an IPv6 address needs brackets, as in [::1]:7000, got {text!r}"
        )
    if not host or not _is_port(port):
        raise errors.InvalidArgumentError(
            f"an address must be host:port, with a port from 1 to 65535, got {text!r}"
        )
    return Address(host, int(port))


def parse_list(text: str) -> list[Address]:
    """Parses a comma-separated list of addresses.

    Args:
        text: "host:port,host:port,...".

    Returns:
        At least one address.

    Raises:
        InvalidArgumentError: For the first address that `parse` refuses.
    """
    return [parse(part) for part in text.split(",")]


def check_once(shards: Sequence[str]) -> None:
    """Raises InvalidArgumentError if a shard's address is in a list more than once."""
    for shard in shards:
        if shards.count(shard) > 1:
            raise errors.InvalidArgumentError(
                "must name each shard once, since a shard's position in the list "
                f"decides which ids it holds. Received: {shard!r} twice in {shards!r}"
            )


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= 65535
