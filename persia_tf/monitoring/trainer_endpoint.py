"""The metrics endpoint of a program that trains: `ptf.metrics.serve()`."""

from __future__ import annotations

import os
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


def serve(
    read: Callable[[], Mapping[str, Any]],
    port: int | None,
    host: str | None,
    tls: TLS | None,
) -> Endpoint:
    """Starts an endpoint with the metrics that `read` returns."""
    if port is None:
        port = port_of_environment()
    if port is None:
        port = DEFAULT_PORT
    checks.integer("port", port, 0, 65535)
    host = host or os.environ.get(HOST_VARIABLE) or "127.0.0.1"
    return Endpoint(Address(host, port), [TrainerMetrics(read)], tls)


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

    If another process uses the port, or prometheus_client is not installed, that is
    logged: it is no reason for training to fail.

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
    logging.info("metrics on %s", endpoint.url)
