"""The HTTP endpoint of metrics."""

import contextlib
import http.client
import socket
import ssl
import time
import urllib.error
import urllib.request

import pytest

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.credentials.tls import TLS
from persia_tf.monitoring import endpoint as endpoint_lib
from persia_tf.monitoring.endpoint import Endpoint
from persia_tf.monitoring.families import families, gauge

ANY_PORT = Address("127.0.0.1", 0)


class Answer:
    """A collector with one gauge."""

    def __init__(self, value=42):
        self.value = value

    def collect(self):
        return families([gauge("value", "answer", "The answer.")], [({}, vars(self))])


def get(url, **options):
    with urllib.request.urlopen(url, timeout=30, **options) as reply:
        return reply.read().decode()


def test_metrics_are_read_when_they_are_asked_for():
    answer = Answer()
    with Endpoint(ANY_PORT, [answer]) as endpoint:
        assert "\nanswer 42.0\n" in get(endpoint.url)
        answer.value = 43
        assert "\nanswer 43.0\n" in get(endpoint.url)


def test_the_process_itself_is_measured():
    with Endpoint(ANY_PORT, []) as endpoint:
        text = get(endpoint.url)
    assert "process_resident_memory_bytes" in text
    assert "process_cpu_seconds_total" in text


def test_a_busy_port_is_named():
    with Endpoint(ANY_PORT, []) as endpoint:
        with pytest.raises(errors.UnavailableError) as raised:
            Endpoint(endpoint.address, [])
    assert str(endpoint.address) in str(raised.value)
    assert "for metrics" in str(raised.value)
    assert "choose another port" in str(raised.value)


@pytest.mark.parametrize(
    ("host", "remedy"),
    [
        ("no such host", "give the name or the IP address of one of this machine's"),
        ("192.0.2.1", "give an IP address of this machine"),  # Of documentation.
    ],
)
def test_a_host_that_is_not_this_machine_is_named(host, remedy):
    with pytest.raises(errors.UnavailableError, match=f"{host}:9") as raised:
        Endpoint(Address(host, 9), [])
    assert remedy in str(raised.value)
    assert "another port" not in str(raised.value)


def ask(endpoint, method, path):
    """The status, the type and the body of an answer."""
    connection = http.client.HTTPConnection(*endpoint.address, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def test_a_head_request_gets_the_head_alone():
    with Endpoint(ANY_PORT, [Answer()]) as endpoint:
        status, kind, body = ask(endpoint, "HEAD", "/metrics")
        assert (status, body) == (200, "")
        assert kind.startswith("text/plain; version=")
        assert ask(endpoint, "HEAD", "/")[::2] == (200, "")
        assert ask(endpoint, "HEAD", "/none")[::2] == (404, "")


def test_other_paths_name_that_of_the_metrics():
    with Endpoint(ANY_PORT, [Answer()]) as endpoint:
        status, _, body = ask(endpoint, "GET", "/metrics?x=1")
        assert status == 200
        assert "answer 42.0" in body
        for path, expected in (("/", 200), ("/metric", 404), ("/metrics/", 404)):
            status, _, body = ask(endpoint, "GET", path)
            assert status == expected
            assert body == "Prometheus's metrics are at /metrics\n"


def test_a_closed_endpoint_does_not_listen():
    endpoint = Endpoint(ANY_PORT, [])
    endpoint.close()
    endpoint.close()
    with pytest.raises(urllib.error.URLError):
        get(endpoint.url)


def test_a_collector_that_fails_ends_one_request(monkeypatch):
    answer = Answer()
    with Endpoint(ANY_PORT, [answer]) as endpoint:
        answer.value = "no number"
        with pytest.raises(OSError):
            get(endpoint.url)
        answer.value = 1
        assert "\nanswer 1.0\n" in get(endpoint.url)


def test_idle_connections_beyond_the_limit_are_closed():
    with Endpoint(ANY_PORT, [Answer()]) as endpoint, contextlib.ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(endpoint.address, timeout=30))
            for _ in range(endpoint_lib._MOST_CONNECTIONS)
        ]
        with socket.create_connection(endpoint.address, timeout=30) as refused:
            assert refused.recv(1) == b""
        for connection in idle:
            connection.close()
        # Their threads end soon; a request that comes sooner is closed too.
        deadline = time.monotonic() + 60
        while True:
            try:
                assert "answer 42.0" in get(endpoint.url)
                break
            except OSError:
                assert time.monotonic() < deadline


def test_with_tls_clients_need_no_certificate(certificates):
    tls = certificates.tls("ps-0")
    context = ssl.create_default_context(cafile=tls.ca)
    with Endpoint(ANY_PORT, [Answer()], tls) as endpoint:
        assert endpoint.url.startswith("https://")
        assert "answer 42.0" in get(endpoint.url, context=context)
        with pytest.raises(OSError):
            get(endpoint.url.replace("https", "http"))
        assert "answer 42.0" in get(endpoint.url, context=context)


def test_a_tls_file_that_is_missing_is_named(certificates, tmp_path):
    files = certificates.tls("ps-0").get_config()
    tls = TLS(**{**files, "key": str(tmp_path / "none.key")})
    with pytest.raises(errors.InvalidArgumentError, match="none.key"):
        Endpoint(ANY_PORT, [], tls)


def test_without_the_library_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "prometheus_client", None)
    with pytest.raises(errors.FailedPreconditionError, match=r"persia_tf\[metrics\]"):
        Endpoint(ANY_PORT, [])
