"""Where a server process listens, and which clients it accepts."""

from __future__ import annotations

import dataclasses
from typing import Any

from persia_tf.base.addresses import Address
from persia_tf.credentials import tls


@dataclasses.dataclass(frozen=True)
class Listening:
    """Where a server process listens, and the credentials that it requires of clients.

    Attributes:
        host: The host name or IP address to listen on.
        control_port: The port of health checks; 0 means any free port.
        auth_token: The token that clients must present. If empty, no token is required.
        tls: The server's certificate, and the certificate authorities that the server
            trusts. If empty, TLS is not used.
        tls_files: The files from which `tls` was read; None if TLS is not used.
        control_plain: Whether health checks do not use TLS, even if the data port does.
        metrics_port: The port of metrics; 0 means any free port, None no metrics.
    """

    host: str
    control_port: int
    auth_token: bytes = dataclasses.field(repr=False)
    tls: tls.Credentials
    tls_files: tls.TLS | None = None
    control_plain: bool = False
    metrics_port: int | None = None

    @property
    def control(self) -> Address:
        """The address that answers health checks."""
        return Address(self.host, self.control_port)

    def core_values(self) -> dict[str, Any]:
        """Returns the credentials as options of the native core, by option name."""
        credentials = dataclasses.asdict(self.tls)
        return {
            "auth_token": self.auth_token,
            **{f"tls_{name}": text for name, text in credentials.items()},
        }
