"""TLS settings for gRPC and the HTTP server. Clients must present certificates."""

from __future__ import annotations

import ssl

import grpc

from persia_tf import errors
from persia_tf.credentials import tls


def of_grpc(files: tls.TLS) -> grpc.ServerCredentials:
    """Returns gRPC's server credentials, read from TLS files.

    Raises:
        InvalidArgumentError: If a file cannot be read, or other users may read the key.
    """
    held = tls.read(files)
    return grpc.ssl_server_credentials(
        [(held.key, held.certificate)], held.ca, require_client_auth=True
    )


def of_http(files: tls.TLS) -> ssl.SSLContext:
    """Returns the HTTP server's SSL context. Call `of_grpc` first: it checks `files`.

    Raises:
        InvalidArgumentError: If a file does not have the expected contents.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    try:
        context.load_cert_chain(files.certificate, files.key, password="")
        context.load_verify_locations(files.ca)
    except ssl.SSLError as error:
        raise errors.InvalidArgumentError(
            f"{files.certificate}, {files.key} and {files.ca} must be a certificate, "
            f"its key without a password, and an authority, in PEM: {error}"
        ) from error
    return context
