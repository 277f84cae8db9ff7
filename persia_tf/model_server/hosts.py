"""Checks which hosts a server may listen on."""

from __future__ import annotations

from persia_tf import errors
from persia_tf.processes import loopback


def check(host: str, may_others: bool) -> None:
    """Checks that a server at `host` is reachable from other machines only if allowed.

    Args:
        host: The name or the address to listen on.
        may_others: Whether other machines may reach the server.

    Raises:
        InvalidArgumentError: If other machines could reach the server but must not, or
            if `host` does not exist.
    """
    is_private = loopback.is_loopback(host)
    if may_others or is_private:
        return
    raise errors.InvalidArgumentError(
        f"other machines can reach {host}, so every program on them could use the "
        "model: give --tls-certificate, --tls-key and --tls-ca; or listen on "
        "127.0.0.1; or, if they all may use the model, give --insecure"
    )
