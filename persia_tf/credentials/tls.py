"""TLS: a process's certificate, and the authorities that it trusts.

The files with the certificates and the key are read when a server starts, or when a
program opens its session. To use changed files, restart the process.
"""

from __future__ import annotations

import dataclasses
import os
import ssl
from typing import Any

from persia_tf import errors
from persia_tf.credentials import reading
from persia_tf.native import capi

VARIABLES = {
    "certificate": "PERSIA_TLS_CERTIFICATE",
    "key": "PERSIA_TLS_KEY",
    "ca": "PERSIA_TLS_CA",
}

_MOST_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True)
class TLS:
    """Mutual TLS between the processes of a cluster.

    Each end of a connection presents its certificate, and accepts the certificate of
    the other end only if an authority in its `ca` has signed that certificate. A
    program also requires that a shard's certificate contains the shard's host name or
    IP address, as spelled in the program's list of shards.

    Example:

    ```python
    tls = ptf.TLS(certificate="trainer.pem", key="trainer.key", ca="ca.pem")
    cluster = ptf.Cluster(["ps-0.shards:7000"], tls=tls)
    ```

    Args:
        certificate: A PEM file with this process's certificate, followed by the
            intermediate certificates up to an authority in the peers' `ca`.
        key: A PEM file with the certificate's private key, without a password; only
            its owner may read the file (`chmod 600`), or, if root owns it, its group
            too.
        ca: A PEM file with the certificates of the authorities that sign the peers'
            certificates.

    Raises:
        InvalidArgumentError: if one of the files is not given.
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
        """Returns a copy with absolute paths, for a process in another folder."""
        return TLS(*map(os.path.abspath, dataclasses.astuple(self)))

    def environment(self) -> dict[str, str]:
        """Returns environment variables that pass this TLS to a child process."""
        return {VARIABLES[name]: path for name, path in self.get_config().items()}


@dataclasses.dataclass(frozen=True)
class Credentials:
    """The contents of the files of a `TLS`; empty and false if there is no TLS."""

    certificate: bytes = b""
    key: bytes = dataclasses.field(default=b"", repr=False)
    ca: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.certificate)

    def native(self) -> capi.Tls:
        """Returns the credentials for the core, which validates them."""
        return capi.Tls(certificate=self.certificate, key=self.key, ca=self.ca)


def of_options(
    certificate: str | None = None, key: str | None = None, ca: str | None = None
) -> TLS | None:
    """Returns the TLS of a command's options, with defaults from the environment.

    Args:
        certificate: As for `TLS`. None means the path in `$PERSIA_TLS_CERTIFICATE`;
            `""` means no certificate, even if that variable is set.
        key: As for `TLS`. None means the path in `$PERSIA_TLS_KEY`.
        ca: As for `TLS`. None means the path in `$PERSIA_TLS_CA`.

    Returns:
        A `TLS`, or None if neither the options nor the environment name a file.

    Raises:
        InvalidArgumentError: If only one or two of the three files are named.
    """
    given = {"certificate": certificate, "key": key, "ca": ca}
    for name, path in given.items():
        if path is None:
            given[name] = os.environ.get(VARIABLES[name], "")
    return TLS(**given) if any(given.values()) else None


def of_argument(tls: TLS | bool | None) -> TLS | None:
    """Returns the TLS that the `tls` argument of a public function selects.

    Args:
        tls: A `TLS`; None for the TLS that the environment names; False for no TLS.
    """
    return of_options() if tls is None else tls or None


def read(tls: TLS | None) -> Credentials:
    """Reads the files of a `TLS`.

    Args:
        tls: The files' names; None for no TLS.

    Raises:
        InvalidArgumentError: If a file cannot be read, more users have access to the
            key than `reading.read_secret` allows, or the key is another certificate's.
    """
    if tls is None:
        return Credentials()
    credentials = Credentials(
        reading.read_public("TLS certificate", tls.certificate, _MOST_BYTES),
        reading.read_secret("TLS key", tls.key, _MOST_BYTES),
        reading.read_public("TLS authority", tls.ca, _MOST_BYTES),
    )
    _check_key(tls)
    return credentials


def _check_key(tls: TLS) -> None:
    """Refuses a key of another certificate; the core refuses what else is wrong.

    The core has no names of files for its message. Pipes cannot be read a second time.
    """
    if not os.path.isfile(tls.certificate) or not os.path.isfile(tls.key):
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        # The password is for a key that has one: without it, OpenSSL would ask for one.
        context.load_cert_chain(tls.certificate, tls.key, password="none")
    except OSError as error:  # ssl.SSLError is one, and has a reason.
        if getattr(error, "reason", "") != "KEY_VALUES_MISMATCH":
            return
        raise errors.InvalidArgumentError(
            f"TLS key {tls.key} is not the key of TLS certificate {tls.certificate}: "
            "give the key and the certificate that were issued together"
        ) from error


def _check_all_given(paths: dict[str, str]) -> None:
    missing = [name for name, path in paths.items() if not path]
    if not missing:
        return
    raise errors.InvalidArgumentError(
        "TLS is mutual: each process needs a certificate, its key and the certificate "
        f"authority of its peers. Missing here: {', '.join(missing)}. Give "
        + " and ".join(f"--tls-{name} (${VARIABLES[name]})" for name in missing)
        + ", or ptf.TLS(certificate=..., key=..., ca=...); or give none of the three"
    )
