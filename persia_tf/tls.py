"""The certificate by which a process is known, and those that it takes.

The files are read when a process starts, or a program opens its session; to change
them, it must start again.
"""

from __future__ import annotations

import dataclasses
import os
from typing import Any

from persia_tf import _native, credential_files, errors

VARIABLES = {
    "certificate": "PERSIA_TLS_CERTIFICATE",
    "key": "PERSIA_TLS_KEY",
    "ca": "PERSIA_TLS_CA",
}

_MOST_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class TLS:
    """TLS between the processes of a cluster, by certificates that all of them have.

    It is mutual: both ends of a connection show a certificate, and take one that an
    authority of theirs has signed. A program also looks for the shard's name, or IP
    address, in the shard's certificate, as its own list of shards has it.

    Example:

    ```python
    tls = ptf.TLS(certificate="trainer.pem", key="trainer.key", ca="ca.pem")
    cluster = ptf.Cluster(["ps-0.shards:7000"], tls=tls)
    ```

    Args:
        certificate: A PEM file with this process's certificate, and after it those
            that lead from it to one in the peers' `ca`.
        key: A PEM file with the certificate's key, without a password, which only
            its owner may read (`chmod 600`).
        ca: A PEM file with the certificates of the authorities that sign those of
            peers.

    Raises:
        InvalidArgumentError: if one of them is not given.
    """

    certificate: str
    key: str
    ca: str

    def __post_init__(self) -> None:
        for name in VARIABLES:
            object.__setattr__(self, name, os.fspath(getattr(self, name)))
        _check_all_given(dataclasses.asdict(self))

    def get_config(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def absolute(self) -> TLS:
        """Returns the same for a process that runs in another folder."""
        return TLS(*map(os.path.abspath, dataclasses.astuple(self)))

    def environment(self) -> dict[str, str]:
        """Returns the variables by which a process that this one starts has it."""
        return {VARIABLES[name]: path for name, path in self.get_config().items()}


@dataclasses.dataclass(frozen=True)
class Credentials:
    """What the files of a `TLS` held; nothing at all where there is none."""

    certificate: bytes = b""
    key: bytes = dataclasses.field(default=b"", repr=False)
    ca: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.certificate)

    def native(self) -> _native.Tls:
        """Returns what the core takes, which also checks it."""
        return _native.Tls(certificate=self.certificate, key=self.key, ca=self.ca)


def of_options(
    certificate: str | None = None, key: str | None = None, ca: str | None = None
) -> TLS | None:
    """Returns what is given, and for what is not, what the environment says.

    Args:
        certificate: As for `TLS`; None for `$PERSIA_TLS_CERTIFICATE`, and `""` for
            none, whatever the environment says.
        key: The same; `$PERSIA_TLS_KEY`.
        ca: The same; `$PERSIA_TLS_CA`.

    Returns:
        None if there is nothing of it.

    Raises:
        InvalidArgumentError: If there is a part of it only.
    """
    given = {"certificate": certificate, "key": key, "ca": ca}
    for name, path in given.items():
        if path is None:
            given[name] = os.environ.get(VARIABLES[name], "")
    return TLS(**given) if any(given.values()) else None


def read(tls: TLS | None) -> Credentials:
    """Reads the files.

    Args:
        tls: Names them; None: there are none.

    Raises:
        InvalidArgumentError: If one cannot be read, or others than its owner may
            read the key.
    """
    if tls is None:
        return Credentials()
    return Credentials(
        credential_files.read_public("TLS certificate", tls.certificate, _MOST_BYTES),
        credential_files.read_secret("TLS key", tls.key, _MOST_BYTES),
        credential_files.read_public("TLS authority", tls.ca, _MOST_BYTES),
    )


def _check_all_given(paths: dict[str, str]) -> None:
    missing = [name for name, path in paths.items() if not path]
    if not missing:
        return
    raise errors.InvalidArgumentError(
        "TLS is mutual: each process needs a certificate, its key and the authority "
        f"of its peers. Missing here: {', '.join(missing)}. Give "
        + " and ".join(f"--tls-{name} (${VARIABLES[name]})" for name in missing)
        + ", or ptf.TLS(certificate=..., key=..., ca=...); or none of the three"
    )
