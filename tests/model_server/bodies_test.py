"""Bodies of REST requests: compressed, large, slow, and many at once."""

import gzip
import http.client
import json
import zlib

import numpy as np
import pytest

from persia_tf.model_server import bodies

X = np.array([[1, 2], [3, 4]], np.float32)
BODY = json.dumps({"inputs": X.tolist()}).encode()
ANSWER = {"outputs": (2 * X).tolist()}
SECONDS = 60
MIB = 1 << 20


def post(client, body, *, headers=(), chunked=False):
    """Posts a body; returns the status, headers and JSON of the answer."""
    connection = http.client.HTTPConnection(*client.server.rest_address, timeout=60)
    try:
        connection.request(
            *("POST", "/v1/models/model:predict", body, dict(headers)),
            encode_chunked=chunked,
        )
        response = connection.getresponse()
        return response.status, response.headers, json.loads(response.read())
    finally:
        connection.close()


def compressed(client, body, encoding="gzip"):
    code, _, answer = post(client, body, headers={"Content-Encoding": encoding})
    return code, answer


def raw_deflate(data):
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("GZIP", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("identity", bytes),
    ],
)
def test_a_compressed_body_is_as_good(client, encoding, compress):
    assert compressed(client, compress(BODY), encoding) == (200, ANSWER)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_may_be_large_inflated_is_large(encoding):
    limits = bodies.Bodies(8 * MIB, 8 * MIB, SECONDS)
    compress = gzip.compress if encoding == "gzip" else zlib.compress
    sent = compress(bytes(bodies.FREE_BYTES + 1024))
    assert len(sent) < 200
    body = bodies.Body([bytearray(sent)], encoding, limits)
    assert body.is_large and len(body.text(limits.share())) > bodies.FREE_BYTES
    # So short a body cannot inflate to more than a small one.
    assert not bodies.Body([bytearray(sent[:60])], encoding, limits).is_large
    assert not bodies.Body([bytearray(sent)], "identity", limits).is_large


def test_a_large_compressed_body_is_as_good(client):
    rows = np.random.default_rng(1).random((50_000, 2)).astype(np.float32)
    body = json.dumps({"inputs": rows.tolist()}).encode()
    assert len(gzip.compress(body, 1)) > 2 * bodies.FREE_BYTES
    code, answer = compressed(client, gzip.compress(body, 1))
    assert code == 200
    np.testing.assert_array_equal(np.float32(answer["outputs"]), 2 * rows)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x" * 4000])
def test_another_encoding_is_refused(client, encoding):
    code, answer = compressed(client, BODY, encoding)
    assert code == 415 and "gzip or deflate" in answer["error"]
    assert len(answer["error"]) < 400


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (BODY, "not what its Content-Encoding says"),
        (b"", "its end is missing"),
        (gzip.compress(BODY)[:-1], "its end is missing"),
        (gzip.compress(BODY) + b"x", "more after its end"),
        (gzip.compress(BODY) + gzip.compress(BODY), "more after its end"),
    ],
    ids=["plain", "empty", "cut", "a byte more", "two"],
)
def test_a_body_that_is_not_compressed_so_is_refused(client, body, told):
    code, answer = compressed(client, body)
    assert code == 400 and told in answer["error"]


@pytest.fixture
def inflated(monkeypatch):
    """The number of bytes that were inflated."""
    counts = [0]
    make = zlib.decompressobj

    class Counting:
        def __init__(self, window):
            self._inflater = make(window)

        def __getattr__(self, name):
            return getattr(self._inflater, name)

        def decompress(self, data, most):
            part = self._inflater.decompress(data, most)
            counts[0] += len(part)
            return part

    monkeypatch.setattr(zlib, "decompressobj", Counting)
    return counts


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_no_more_is_inflated_than_a_body_may_have(
    add_version, serve, inflated, encoding
):
    add_version(1)
    client = serve(max_body_bytes=100_000)
    compress = gzip.compress if encoding == "gzip" else zlib.compress
    code, answer = compressed(client, compress(b" " * (64 * MIB)), encoding)
    assert code == 413 and "100000 bytes" in answer["error"]
    assert inflated[0] <= 100_000 + (1 << 16)


def test_a_large_body_is_refused_by_its_length(add_version, serve):
    add_version(1)
    client = serve(max_body_bytes=1000)
    connection = begin(client, length=1001)
    response = connection.getresponse()
    assert (
        response.status == 413 and b"according to its Content-Length" in response.read()
    )
    connection.close()


def test_a_large_body_without_a_length_is_refused(add_version, serve):
    add_version(1)
    client = serve(max_body_bytes=1000)
    code, _, answer = post(client, iter([b" " * 600] * 2), chunked=True)
    assert code == 413 and "may have at most 1000 bytes" in answer["error"]


def begin(client, length):
    """Sends a request for a prediction without its body."""
    connection = http.client.HTTPConnection(*client.server.rest_address, timeout=60)
    connection.putrequest("POST", "/v1/models/model:predict")
    connection.putheader("Content-Length", str(length))
    connection.endheaders()
    return connection


def arriving(client):
    return client.server.metrics.value("persia_serve_requests_arriving")


def test_bodies_that_come_in_at_once_share_memory(add_version, serve, eventually):
    add_version(1)
    client = serve(max_body_bytes=MIB, body_memory=MIB)
    budget = client.server._bodies.budget
    first = begin(client, MIB)
    first.send(b" " * 800_000)
    eventually(lambda: budget.taken == 800_000 - bodies.FREE_BYTES, "the first one")
    code, headers, answer = post(client, b" " * 500_000)
    assert code == 503 and "--body-memory" in answer["error"]
    assert headers["Retry-After"] == "1"
    # Small bodies have memory of their own.
    code, _, answer = post(client, BODY)
    assert (code, answer) == (200, {"outputs": X.tolist()})
    first.close()
    eventually(lambda: arriving(client) == budget.taken == 0, "its end")
    assert post(client, b" " * 500_000)[0] == 400


def test_what_a_body_becomes_shares_memory(add_version, serve, eventually):
    add_version(1)
    client = serve(max_body_bytes=MIB, body_memory=MIB)
    body = json.dumps({"inputs": [[1, 1]] * 50_000}).encode()
    code, _, answer = post(client, body)
    assert code == 503 and "--body-memory" in answer["error"]
    eventually(lambda: client.server._bodies.budget.taken == 0, "its end")


def test_a_body_that_comes_in_too_slowly_is_refused(add_version, serve, monkeypatch):
    monkeypatch.setattr(bodies, "_GRACE_SECONDS", 0.05)
    add_version(1)
    client = serve(request_seconds=SECONDS)
    connection = begin(client, 1000)
    connection.send(b" ")
    response = connection.getresponse()
    assert response.status == 408
    assert b"less than 4096 bytes per second" in response.read()
    connection.close()
