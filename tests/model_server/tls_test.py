"""A server that has a certificate, and requires one from its clients."""

import ssl
import urllib.error
import urllib.request

import grpc
import pytest

from persia_tf import errors, model_server
from persia_tf.credentials.tls import TLS

CHECK = "/grpc.health.v1.Health/Check"
SERVING = b"\x08\x01"


@pytest.fixture
def server(certificates, add_version, folder):
    add_version(1)
    with model_server.ModelServer(folder, tls=certificates.tls("ps-0")) as started:
        started.wait_until_serving(60)
        yield started


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_by_grpc(server, ca, own=None):
    """Returns the answer to a health check by a client with these certificates."""
    key, certificate = (read(own.key), read(own.certificate)) if own else (None, None)
    credentials = grpc.ssl_channel_credentials(read(ca), key, certificate)
    with grpc.secure_channel(str(server.address), credentials) as channel:
        return channel.unary_unary(CHECK)(b"", timeout=60)


def check_by_rest(server, ca, own=None):
    context = ssl.create_default_context(cafile=ca)
    if own:
        context.load_cert_chain(own.certificate, own.key)
    url = f"https://{server.rest_address}/healthz"
    with urllib.request.urlopen(url, timeout=60, context=context) as response:
        return response.read()


def test_those_with_a_certificate_are_answered(server, certificates):
    own = certificates.tls("trainer")
    assert check_by_grpc(server, own.ca, own) == SERVING
    assert check_by_rest(server, own.ca, own) == b"ok\n"


@pytest.mark.parametrize("who", ["nobody", "stranger"])
def test_others_are_refused(server, certificates, other_certificates, who):
    own = other_certificates.tls("trainer") if who == "stranger" else None
    ca = certificates.tls("trainer").ca
    with pytest.raises(grpc.RpcError) as failure:
        check_by_grpc(server, ca, own)
    assert failure.value.code() == grpc.StatusCode.UNAVAILABLE
    with pytest.raises((urllib.error.URLError, OSError)):
        check_by_rest(server, ca, own)


def test_without_encryption_nothing_is_answered(server):
    with grpc.insecure_channel(str(server.address)) as channel:
        with pytest.raises(grpc.RpcError):
            channel.unary_unary(CHECK)(b"", timeout=60)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://{server.rest_address}/healthz", timeout=60)


def test_with_it_other_machines_may_come(certificates, folder):
    with model_server.ModelServer(
        folder, host="0.0.0.0", tls=certificates.tls("ps-0")
    ) as server:
        assert server.address.port and server.rest_address.port


def test_a_key_of_another_certificate_is_refused(certificates, folder):
    mixed = TLS(
        certificate=certificates.tls("ps-0").certificate,
        key=certificates.tls("trainer").key,
        ca=certificates.tls("ps-0").ca,
    )
    with pytest.raises(
        errors.InvalidArgumentError, match="is not the key of TLS certificate"
    ):
        model_server.ModelServer(folder, tls=mixed)
