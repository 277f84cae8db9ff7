"""A server of one model, over gRPC and REST."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent import futures
from typing import Any

import grpc

from persia_tf import errors
from persia_tf.base import checks
from persia_tf.base.addresses import Address
from persia_tf.credentials.tls import TLS
from persia_tf.model_server import bounds, descriptors, encryption, grpc_api, hosts
from persia_tf.model_server.arriving_calls import ArrivingCalls
from persia_tf.model_server.batching import Gate, Runner
from persia_tf.model_server.bodies import Bodies
from persia_tf.model_server.http_server import HttpServer, Limits
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.poller import Poller
from persia_tf.model_server.predictor import Predictor
from persia_tf.model_server.rest_api import RestApi
from persia_tf.model_server.served_model import ServedModel, Watcher
from persia_tf.model_server.versions import read_policy
from persia_tf.processes import health
from persia_tf.processes.grpc_port import listen, make_server

# The number of gRPC threads in addition to those for predictions. They answer requests
# for status and health, and refuse calls above the limit.
_MORE_THREADS = health.MAX_WATCHES + health.CHECK_THREADS + 4

_POLL_SECONDS = 0.01

# Timeout for setting up a gRPC connection.
_HANDSHAKE_SECONDS = 10.0

# The time for threads to end after their requests have ended or were aborted.
_MORE_SECONDS = 1.0


class ModelServer:
    """Serves a SavedModel over TensorFlow Serving's gRPC and REST APIs.

    The server starts with its construction, serves as soon as a version is loaded, and
    stops with `stop` or at the end of a `with` block.

    Example:

    ```python
    ptf.serving.export(model, "serving/ranking/1")
    with ptf.model_server.ModelServer("serving/ranking") as server:
        server.wait_until_serving(60)
        print(f"http://{server.rest_address}/v1/models/ranking")
    ```

    Args:
        model: A folder with one subfolder per version, named by the version's number;
            or the folder of a SavedModel, which is then version 1.
        name: The model's name in requests. Defaults to None: the folder's name.
        versions: Which versions serve: `"latest:N"` or `"all"`. Defaults to
            `"latest:1"`.
        poll_seconds: The interval between two looks for new versions, in seconds.
            Defaults to 1.
        host: The name or address to listen on. Defaults to `"127.0.0.1"`.
        grpc_port: The port for gRPC. Defaults to 0: any free port.
        rest_port: The port for REST. Defaults to 0: any free port.
        tls: The server's certificate and key, and the authority whose certificates
            clients must present. Defaults to None: connections are not encrypted.
        insecure: Whether `host` may be reachable from other machines without TLS.
            Defaults to False.
        threads: How many predictions run at a time. Defaults to None: the number of
            processors.
        max_requests: How many predictions may run or wait; further requests are
            refused. Defaults to 128.
        request_seconds: How long, in seconds, a request for a prediction may take to
            arrive and to wait for its run; also how long a REST client may take to read
            an answer. Defaults to 30.
        max_message_bytes: The largest size of a gRPC request. Defaults to 64 MiB.
        max_body_bytes: The largest size of the body of a REST request, both before and
            after decompression. Defaults to 8 MiB.
        body_memory: How many bytes of memory all REST requests together may take, from
            their arrival until their answers are sent; further requests are refused. A
            request that takes at most 64 KiB is never refused for this reason. Defaults
            to 256 MiB.
        max_connections: The limit on the connections of each API, gRPC and REST. At the
            limit, REST closes the most idle connection to make room for a new one, and
            gRPC refuses new connections. Defaults to 1024, or fewer if the limit on
            open files is too low.
        idle_seconds: How long a connection may be without a request, in seconds.
            Defaults to 120.
        max_batch_size: The largest number of examples in a batch of requests that run
            as one. Defaults to 0: no batching.
        batch_timeout: How long, in seconds, a request waits for other requests to join
            its batch, even if it could run at once. Defaults to 0.
        watchers: Objects that are notified when versions start and stop serving: see
            `Watcher`. A watcher with a `collect` method, as Prometheus's collectors
            have, adds to the metrics.

    Attributes:
        name: The model's name in requests.
        address: The host and port of gRPC.
        rest_address: The host and port of REST.
        metrics: The server's metrics.

    Raises:
        ValueError: If an argument is out of range, other machines could reach the
            server without TLS and without `insecure`, or a TLS file is invalid.
        TypeError: If an argument has a wrong type.
        NotFoundError: If there is no folder `model`.
        UnavailableError: If the server cannot listen on a port.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        name: str | None = None,
        versions: str = "latest:1",
        poll_seconds: float = 1.0,
        host: str = "127.0.0.1",
        grpc_port: int = 0,
        rest_port: int = 0,
        tls: TLS | None = None,
        insecure: bool = False,
        threads: int | None = None,
        max_requests: int = 128,
        request_seconds: float = 30.0,
        max_message_bytes: int = 64 << 20,
        max_body_bytes: int = 8 << 20,
        body_memory: int = 256 << 20,
        max_connections: int = 1024,
        idle_seconds: float = 120.0,
        max_batch_size: int = 0,
        batch_timeout: float = 0.0,
        watchers: Sequence[Watcher] = (),
    ) -> None:
        hosts.check(host, insecure or tls is not None)
        of_grpc = None if tls is None else encryption.of_grpc(tls)
        of_http = None if tls is None else encryption.of_http(tls)
        checks.integer("max_requests", max_requests, 1, bounds.MOST_THREADS)
        checks.integer(
            "max_message_bytes", max_message_bytes, 1, bounds.MOST_MESSAGE_BYTES
        )
        checks.integer("max_body_bytes", max_body_bytes, 1, bounds.MOST_MESSAGE_BYTES)
        checks.integer("body_memory", body_memory, max_body_bytes, bounds.MOST_MEMORY)
        checks.integer("max_connections", max_connections, 1, bounds.MOST_CONNECTIONS)
        idle_seconds = _seconds("idle_seconds", idle_seconds)
        poll_seconds = _seconds("poll_seconds", poll_seconds)
        request_seconds = _seconds("request_seconds", request_seconds)
        folder = bounds.folder_of(model)
        self.name = bounds.name_of(name, folder)
        self.metrics = Metrics()
        for watcher in watchers:
            if hasattr(watcher, "collect"):
                self.metrics.registry.register(watcher)
        self._health = health.Health(
            self.name, grpc_api.PREDICTION_SERVICE, serving=False
        )
        self._model = ServedModel(
            self.name,
            folder,
            keep=read_policy(versions),
            watchers=watchers,
            metrics=self.metrics,
            tell_serving=self._health.set_serving,
        )
        predictor = Predictor(
            self._model,
            Gate(max_requests, self.metrics),
            _runner(threads, max_batch_size, batch_timeout, self.metrics),
            self.metrics,
        )
        most = descriptors.connections(max_connections, listeners=2)
        # Twice max_requests, since a call whose request is still arriving also occupies
        # a thread, but does not count towards max_requests.
        calls = 2 * max_requests + _MORE_THREADS
        # Each API has a thread pool of its own, so that requests of one API cannot use
        # up the threads of the other API.
        self._pools = [
            futures.ThreadPoolExecutor(calls, "persia-serve"),
            futures.ThreadPoolExecutor(max_requests, "persia-serve-rest"),
        ]
        self._grpc = self._make_grpc(
            predictor,
            calls,
            request_seconds,
            max_message_bytes,
            grpc_limits(most, idle_seconds),
        )
        self._bodies = Bodies(max_body_bytes, body_memory, request_seconds)
        rest = RestApi(
            predictor,
            self._pools[1],
            self.metrics,
            self._bodies,
            request_seconds,
        )
        try:
            self.address = listen(self._grpc, Address(host, grpc_port), "gRPC", of_grpc)
            self._rest = HttpServer(
                rest.application(),
                Address(host, rest_port),
                Limits(most, idle_seconds, request_seconds),
                lambda reason: self.metrics.connections_closed.labels(reason).inc(),
                of_http,
            )
        except BaseException:
            self._grpc.stop(None)
            self._arriving.close(0)
            for pool in self._pools:
                pool.shutdown(wait=False)
            raise
        self.rest_address = self._rest.address
        self._grpc.start()
        self._stopping = threading.Lock()
        self._has_ended = False
        self._poller = Poller(self.poll, "look for versions", poll_seconds)

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    @property
    def is_serving(self) -> bool:
        """Whether any version of the model serves."""
        return self._model.is_serving

    def poll(self) -> None:
        """Looks for versions in the model's folder now; loads and unloads versions."""
        self._model.poll()

    def wait_until_serving(self, seconds: float) -> None:
        """Waits until any version of the model serves.

        Args:
            seconds: How long to wait at most.

        Raises:
            DeadlineExceededError: If no version serves within this time. The log has
                the reason.
        """
        give_up = time.monotonic() + seconds
        while not self.is_serving:
            if time.monotonic() > give_up:
                raise errors.DeadlineExceededError(
                    f"no version of model {self.name!r} serves after {seconds:g} s: "
                    "see the log"
                )
            time.sleep(_POLL_SECONDS)

    def stop(self, seconds: float = 20.0) -> bool:
        """Stops the server: reports "not serving", and finishes requests in flight.

        Args:
            seconds: How long requests in flight may take. Defaults to 20.

        Returns:
            Whether all requests have ended in time. Requests that have not are aborted,
            but a run of the model for such a request continues. When the program exits,
            Python waits for these runs, unless it exits by `os._exit`.
        """
        if not self._stopping.acquire(blocking=False):
            return self._has_ended  # An earlier call stops the server.
        give_up = time.monotonic() + seconds
        self._health.drain()
        self._model.stop_loading()
        self._health.close()
        grpc_ended = self._grpc.stop(seconds)
        self._rest.stop(seconds)
        grpc_ended.wait(max(0, give_up - time.monotonic()) + _MORE_SECONDS)
        self._arriving.close(max(0, give_up - time.monotonic()))
        self._poller.stop(max(0, give_up - time.monotonic()))
        self._model.close(max(0, give_up - time.monotonic()))
        self._has_ended = self._end_pools(
            max(0, give_up - time.monotonic()) + _MORE_SECONDS
        )
        return self._has_ended

    def _end_pools(self, seconds: float) -> bool:
        """Ends the threads that answer requests; returns whether all ended in time."""

        # A pool's own `shutdown` has no timeout, so another thread calls it.
        def end() -> None:
            for pool in self._pools:
                pool.shutdown()

        ending = threading.Thread(target=end, daemon=True)
        ending.start()
        ending.join(seconds)
        return not ending.is_alive()

    def _make_grpc(
        self,
        predictor: Predictor,
        max_calls: int,
        request_seconds: float,
        max_message_bytes: int,
        limits: Sequence[tuple[str, int]],
    ) -> grpc.Server:
        server = make_server(
            self._pools[0],
            [("grpc.max_receive_message_length", max_message_bytes), *limits],
            max_calls,
        )
        self._arriving = ArrivingCalls(
            server,
            request_seconds,
            grpc_api.MessageCheck(predictor, max_message_bytes),
        )
        self._arriving.add_generic_rpc_handlers([self._health.handler()])
        grpc_api.add_services(
            self._arriving,
            predictor,
            request_seconds=request_seconds,
            max_message_bytes=max_message_bytes,
        )
        return server


def grpc_limits(connections: int, idle_seconds: float) -> list[tuple[str, int]]:
    """Returns the gRPC options that limit a server's connections.

    Args:
        connections: The largest number of connections; further connections are closed
            at once.
        idle_seconds: How long a connection may be without a call.
    """
    handshake = 1000 * int(_HANDSHAKE_SECONDS)
    return [
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.max_connection_idle_ms", max(1, int(1000 * idle_seconds))),
        # Timeouts of the TLS handshake, and of the first HTTP/2 settings frame.
        ("grpc.server_handshake_timeout_ms", handshake),
        ("grpc.http2.settings_timeout", handshake),
        # Keepalive pings detect clients that vanished without closing the connection:
        # gRPC then ends the calls of these clients.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _runner(
    threads: int | None, max_batch_size: int, batch_timeout: float, metrics: Metrics
) -> Runner:
    if threads is None:
        threads = os.cpu_count() or 1
    return Runner(
        checks.integer("threads", threads, 1, bounds.MOST_THREADS),
        metrics,
        checks.integer("max_batch_size", max_batch_size, 0, bounds.MOST_EXAMPLES),
        checks.within("batch_timeout", batch_timeout, 0, checks.MOST_SECONDS),
    )


def _seconds(name: str, value: float) -> float:
    return checks.within(name, checks.positive(name, value), 0, checks.MOST_SECONDS)
