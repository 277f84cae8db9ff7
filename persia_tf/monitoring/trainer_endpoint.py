"""The metrics endpoint of a program that trains: `ptf.metrics.serve()`."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from absl import logging

from persia_tf import errors
from persia_tf.base import checks
from persia_tf.base.addresses import METRICS_PORT_VARIABLE, Address
from persia_tf.credentials.tls import TLS
from persia_tf.monitoring.endpoint import Endpoint
from persia_tf.monitoring.trainer_metrics import TrainerMetrics

HOST_VARIABLE = "PERSIA_METRICS_HOST"

DEFAULT_PORT = 9400

_lock = threading.Lock()
_asked: set[int] = set()  # The processes that have read the environment: pids.
# The endpoints of this process and of those that it was forked from, by pid and
# address, each with the number of its users. Guarded by _lock.
_served: dict[tuple[int, Address], tuple[Endpoint, TLS | None, int]] = {}
_told: set[tuple[int, str]] = set()  # Pids and the URLs that they have told.


class SharedEndpoint:
    """One use of an endpoint, which serves until the last of its users closes it.

    Attributes:
        address: The address on which the endpoint listens.
        url: The URL of the metrics.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.address = endpoint.address
        self.url = endpoint.url
        self._key: tuple[int, Address] | None = (os.getpid(), endpoint.address)

    def close(self) -> None:
        """Ends this use. A second call does nothing."""
        with _lock:
            key, self._key = self._key, None
            if key not in _served:
                return
            endpoint, tls, users = _served[key]
            if users > 1:
                _served[key] = endpoint, tls, users - 1
                return
            del _served[key]
            if key[0] == os.getpid():  # A forked process does not have the thread.
                endpoint.close()

    def __enter__(self) -> SharedEndpoint:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def check(port: int | None, host: str | None, tls: TLS | None) -> None:
    """Checks the arguments of `serve`.

    Raises:
        TypeError: If one of them has another type.
        ValueError: If `port` is out of its range.
    """
    if port is not None:
        checks.integer("port", port, 0, 65535)
    checks.instance("host", host, str, "a str", none=True)
    checks.instance("tls", tls, TLS, "a `ptf.TLS`", none=True)


def serve(
    read: Callable[[], Mapping[str, Any]],
    port: int | None,
    host: str | None,
    tls: TLS | None,
) -> SharedEndpoint:
    """Serves the metrics that `read` returns.

    If this process serves metrics on the same address already, as after a `fit` that
    raised, that endpoint gets one more user.
    """
    check(port, host, tls)
    if port is None:
        port = port_of_environment()
    if port is None:
        port = DEFAULT_PORT
    wanted = Address(host or os.environ.get(HOST_VARIABLE) or "127.0.0.1", port)
    with _lock:
        key = (os.getpid(), wanted)
        known = _served.get(key)
        if known is not None and known[1] == tls:
            _served[key] = (*known[:2], known[2] + 1)
            return SharedEndpoint(known[0])
        try:
            endpoint = Endpoint(wanted, [TrainerMetrics(read)], tls)
        except errors.UnavailableError as error:
            own = [
                each.url
                for (pid, address), (each, *_) in _served.items()
                if pid == os.getpid() and address.port == port
            ]
            if not own:
                raise
            raise errors.UnavailableError(
                f"{error}. This program itself serves its metrics on {own[0]}: `close` "
                "that endpoint first, or give the same host and TLS files"
            ) from error
        _served[os.getpid(), endpoint.address] = endpoint, tls, 1
        return SharedEndpoint(endpoint)


def tell(url: str) -> None:
    """Writes a URL to stderr, once per process.

    Not by logging, which by default hides what is no warning: who wants the metrics of
    a port that was free needs the URL.
    """
    with _lock:
        if (os.getpid(), url) in _told:
            return
        _told.add((os.getpid(), url))
    print(f"Metrics on {url}", file=sys.stderr, flush=True)


def port_of_environment() -> int | None:
    """Returns the port that `$PERSIA_METRICS_PORT` names; None if it is not set.

    Raises:
        InvalidArgumentError: If its value is no port.
    """
    text = os.environ.get(METRICS_PORT_VARIABLE, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) <= 65535):
        raise errors.InvalidArgumentError(
            f"${METRICS_PORT_VARIABLE} must be a port number from 0 to 65535, or "
            f"empty. Received: {text!r}"
        )
    return int(text)


def serve_if_wanted(read: Callable[[], Mapping[str, Any]]) -> None:
    """Starts an endpoint once per process, if `$PERSIA_METRICS_PORT` is set.

    The URL is told on stderr. If another process uses the port, or prometheus_client
    is not installed, that is logged: it is no reason for training to fail.

    Raises:
        InvalidArgumentError: If the variable's value is no port.
    """
    with _lock:
        if os.getpid() in _asked or port_of_environment() is None:
            return
        _asked.add(os.getpid())
    try:
        endpoint = serve(read, None, None, None)
    except (errors.UnavailableError, errors.FailedPreconditionError) as error:
        logging.warning("$%s: no metrics: %s", METRICS_PORT_VARIABLE, error)
        return
    tell(endpoint.url)
