"""Serves Prometheus's metrics over HTTP."""

from __future__ import annotations

import errno
import http.server
import socket
import ssl
import threading
import urllib.parse
from collections.abc import Iterable
from typing import Any

from persia_tf import errors
from persia_tf.base import extras
from persia_tf.base.addresses import Address
from persia_tf.credentials import tls as tls_lib
from persia_tf.credentials.tls import TLS

# How long a client may take to send its request, or to read the answer.
_CLIENT_SECONDS = 10.0

# Connections that are served at once. Prometheus uses one; further ones are closed, so
# that no client can take all threads or files of the process.
_MOST_CONNECTIONS = 16


# Where the metrics are.
_PATH = "/metrics"


class Endpoint:
    """Answers HTTP requests for metrics, in threads, until `close`.

    Example:

    >>> where = Address("127.0.0.1", 0)
    >>> with Endpoint(where, [TrainerMetrics(ptf.metrics)]) as endpoint:
    ...     print(endpoint.url)
    http://127.0.0.1:40123/metrics

    Args:
        wanted: The address to listen on; port 0 means any free port.
        collectors: Prometheus's collectors, such as `ServerMetrics`. Metrics of the
            process itself, such as its resident memory, are added.
        tls: The process's certificate and key, for HTTPS; None for HTTP. Clients need
            no certificate.

    Attributes:
        address: The address on which the endpoint listens.
        url: The URL of the metrics.

    Raises:
        InvalidArgumentError: If a TLS file cannot be read or is not valid.
        FailedPreconditionError: If prometheus_client is not installed.
        UnavailableError: If the endpoint cannot listen on the address.
    """

    def __init__(
        self, wanted: Address, collectors: Iterable[Any], tls: TLS | None = None
    ) -> None:
        prometheus = extras.import_of("metrics", "metrics need", "prometheus_client")
        registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=registry)
        for collector in collectors:
            registry.register(collector)
        handler = _handler(prometheus, registry)
        context = _context_of(tls)
        try:
            self._server = _Server(wanted, handler, context)
        except OSError as error:
            raise errors.UnavailableError(
                f"cannot listen on {wanted} for metrics: {error.strerror}; "
                f"{_remedy(error)}"
            ) from error
        self.address = wanted._replace(port=self._server.server_address[1])
        self.url = f"{'https' if tls else 'http'}://{self.address}{_PATH}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="persia-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stops listening; requests that are being answered may still run.

        A second call does nothing.
        """
        if not self._thread.is_alive():
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Endpoint:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class _Server(http.server.ThreadingHTTPServer):
    """An HTTP server with a limit on its connections, and with TLS if wanted."""

    # A client that is slow must not delay the end of the process.
    daemon_threads = True

    def __init__(
        self, wanted: Address, handler: type, context: ssl.SSLContext | None
    ) -> None:
        self._context = context
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        (found, *_) = socket.getaddrinfo(
            wanted.host, wanted.port, type=socket.SOCK_STREAM
        )
        self.address_family = found[0]
        super().__init__(found[4][:2], handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            return self.shutdown_request(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(_CLIENT_SECONDS)
        if self._context is None:
            return super().finish_request(request, client_address)
        with self._context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that hang up, are too slow, or do not speak HTTP or TLS."""


def _handler(prometheus: Any, registry: Any) -> type:
    """Returns the class that answers a request: metrics at one path, no other pages."""

    class Handler(prometheus.MetricsHandler):
        def do_GET(self) -> None:
            if self._path() == _PATH:
                super().do_GET()
            else:
                self.wfile.write(self._other())

        def do_HEAD(self) -> None:
            if self._path() == _PATH:
                self._send_head(200, prometheus.CONTENT_TYPE_LATEST)
            else:
                self._other()

        def _path(self) -> str:
            return urllib.parse.urlsplit(self.path).path

        def _other(self) -> bytes:
            """Sends the head of another page than the metrics, and returns its body."""
            is_root = self._path() == "/"
            text = f"Prometheus's metrics are at {_PATH}\n".encode()
            self._send_head(200 if is_root else 404, "text/plain; charset=utf-8")
            return text

        def _send_head(self, code: int, kind: str) -> None:
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.end_headers()

    return Handler.factory(registry)


def _remedy(error: OSError) -> str:
    """Says what to do if a server cannot listen."""
    if isinstance(error, socket.gaierror):
        return "give the name or the IP address of one of this machine's networks"
    if error.errno == errno.EADDRNOTAVAIL:
        return "give an IP address of this machine, or 0.0.0.0 for all of them"
    if error.errno == errno.EACCES:
        return "choose a port above 1023, or 0 for any free one"
    return "choose another port, or 0 for any free one"


def _context_of(tls: TLS | None) -> ssl.SSLContext | None:
    if tls is None:
        return None
    tls_lib.read(tls)  # Checks the files, and who may read the key.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(tls.certificate, tls.key, password="")
    return context
