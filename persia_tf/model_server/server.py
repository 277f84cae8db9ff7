"""A server of one model, over gRPC and REST."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from concurrent import futures
from typing import Any

import grpc

from persia_tf import checks, errors
from persia_tf.addresses import Address
from persia_tf.commands import health
from persia_tf.commands.grpc_port import listen, make_server
from persia_tf.model_server import descriptors, encryption, grpc_api, hosts, options
from persia_tf.model_server.arriving_calls import ArrivingCalls
from persia_tf.model_server.bodies import Bodies
from persia_tf.model_server.http_server import HttpServer, Limits
from persia_tf.model_server.metrics import Metrics
from persia_tf.model_server.poller import Poller
from persia_tf.model_server.predictor import Predictor
from persia_tf.model_server.rest_api import RestApi
from persia_tf.model_server.running import Gate, Runner
from persia_tf.model_server.served_model import ServedModel, Watcher
from persia_tf.model_server.versions import read_policy
from persia_tf.tls import TLS

# Beyond predictions: for status, health, and to tell those that are refused so.
_MORE_THREADS = health.MAX_WATCHES + health.CHECK_THREADS + 4

_POLL_SECONDS = 0.01

# For a connection by gRPC to become one.
_HANDSHAKE_SECONDS = 10.0

# For threads to end once their requests have, or were cut off.
_MORE_SECONDS = 1.0


class ModelServer:
    """Serves a SavedModel over TensorFlow Serving's gRPC and REST APIs.

    It serves from the moment it is made, as soon as a version is loaded, until `stop`,
    or the end of a `with` block.

    Example:

    ```python
    ptf.serving.export(model, "serving/ranking/1")
    with ptf.model_server.ModelServer("serving/ranking") as server:
        server.wait_until_serving(60)
        print(f"http://{server.rest_address}/v1/models/ranking")
    ```

    Args:
        model: A folder with a folder for each version, named by its number; or a
            SavedModel itself: version 1.
        name: What requests call the model. Defaults to None: the folder's name.
        versions: Which serve: `"latest:N"` or `"all"`. Defaults to `"latest:1"`.
        poll_seconds: From a look for versions to the next. Defaults to 1.
        host: Name or address to listen on. Defaults to `"127.0.0.1"`.
        grpc_port: Port of gRPC. Defaults to 0: any free one.
        rest_port: Port of REST. Defaults to 0: any free one.
        tls: By what it is known, and whom it takes: clients must show a certificate.
            Defaults to None: connections are not encrypted.
        insecure: Whether `host` may be one that other machines reach, without TLS.
            Defaults to False.
        threads: Predictions that run at once. Defaults to None: as many as there are
            processors.
        max_requests: Predictions that wait or run; the next is refused. Defaults to
            128.
        request_seconds: How long a prediction may take until it runs, its arrival
            included, and a client to read an answer by REST. Defaults to 30.
        max_message_bytes: Of one request by gRPC. Defaults to 64 MiB.
        max_body_bytes: Of the body of one request by REST, also once it is inflated.
            Defaults to 8 MiB.
        body_memory: Bytes that all requests by REST may take together while they
            arrive and are read; the next is refused. Small ones never are. Defaults
            to 256 MiB.
        max_connections: By each of gRPC and REST. Where there are as many, REST closes
            the idlest for a new one, and gRPC refuses it. Defaults to 1024, or fewer
            where this process may not have so many files open.
        idle_seconds: How long a connection may be without a request. Defaults to 120.
        max_batch_size: Examples of requests that are joined and run as one. Defaults
            to 0: none are joined.
        batch_timeout: Seconds that a request waits for others to join it, even if it
            could run. Defaults to 0.
        watchers: Are told of versions that start and end to serve. Those with a
            `collect`, as Prometheus's collectors have it, are told of with the metrics.

    Attributes:
        name: What requests call the model.
        address: Of gRPC: a host and a port.
        rest_address: Of REST.
        metrics: What it counts.

    Raises:
        ValueError: If an argument is out of range, other machines would reach it, or
            a file of TLS is not as it must be.
        TypeError: If an argument is of another type.
        NotFoundError: If there is no folder `model`.
        UnavailableError: If a port cannot be listened on.
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
        checks.integer("max_requests", max_requests, 1, options.MOST_THREADS)
        checks.integer(
            "max_message_bytes", max_message_bytes, 1, options.MOST_MESSAGE_BYTES
        )
        checks.integer("max_body_bytes", max_body_bytes, 1, options.MOST_MESSAGE_BYTES)
        checks.integer("body_memory", body_memory, max_body_bytes, options.MOST_MEMORY)
        checks.integer("max_connections", max_connections, 1, options.MOST_CONNECTIONS)
        idle_seconds = _seconds("idle_seconds", idle_seconds)
        poll_seconds = _seconds("poll_seconds", poll_seconds)
        request_seconds = _seconds("request_seconds", request_seconds)
        folder = options.folder_of(model)
        self.name = options.name_of(name, folder)
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
        # Those whose requests arrive hold threads too, and no place of a prediction.
        calls = 2 * max_requests + _MORE_THREADS
        # One for each API: what holds the threads of one does not hold the other's.
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
        self.address = listen(self._grpc, Address(host, grpc_port), "gRPC", of_grpc)
        self._bodies = Bodies(max_body_bytes, body_memory, request_seconds)
        rest = RestApi(
            predictor,
            self._pools[1],
            self.metrics,
            self._bodies,
            request_seconds,
        )
        try:
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
            raise
        self.rest_address = self._rest.address
        self._grpc.start()
        self._stopping = threading.Lock()
        self._has_ended = False
        self._poller = Poller(self.poll, poll_seconds)

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()

    @property
    def is_serving(self) -> bool:
        """Whether a version serves."""
        return self._model.is_serving

    def poll(self) -> None:
        """Looks for versions now, and loads and ends what is to be."""
        self._model.poll()

    def wait_until_serving(self, seconds: float) -> None:
        """Waits until a version serves.

        Args:
            seconds: How long to wait at most.

        Raises:
            DeadlineExceededError: If none does by then; why is in the log.
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
        """Reports "not serving", finishes requests in flight, and ends.

        Args:
            seconds: How long requests in flight may take. Defaults to 20.

        Returns:
            Whether all of them have ended. One that has not is cut off, but what it
            runs goes on, and Python waits for it when the program ends, unless that
            leaves by `os._exit`.
        """
        if not self._stopping.acquire(blocking=False):
            return self._has_ended  # It stops, or has stopped.
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
        """Ends the threads of requests; returns whether all ended in time."""

        # A pool itself waits for ever, or not at all.
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
        self._arriving = ArrivingCalls(server, request_seconds)
        self._arriving.add_generic_rpc_handlers([self._health.handler()])
        grpc_api.add_services(
            self._arriving,
            predictor,
            request_seconds=request_seconds,
            max_message_bytes=max_message_bytes,
        )
        return server


def grpc_limits(connections: int, idle_seconds: float) -> list[tuple[str, int]]:
    """Returns options of gRPC for what clients may take of a server.

    Args:
        connections: How many there may be; the next is closed at once.
        idle_seconds: How long one may be without a call.
    """
    handshake = 1000 * int(_HANDSHAKE_SECONDS)
    return [
        ("grpc.max_allowed_incoming_connections", connections),
        ("grpc.max_connection_idle_ms", max(1, int(1000 * idle_seconds))),
        # TLS, and the first words of HTTP/2.
        ("grpc.server_handshake_timeout_ms", handshake),
        ("grpc.http2.settings_timeout", handshake),
        # A client that is gone without a word, and its calls with it.
        ("grpc.keepalive_time_ms", 60_000),
        ("grpc.keepalive_timeout_ms", 20_000),
    ]


def _runner(
    threads: int | None, max_batch_size: int, batch_timeout: float, metrics: Metrics
) -> Runner:
    if threads is None:
        threads = os.cpu_count() or 1
    return Runner(
        checks.integer("threads", threads, 1, options.MOST_THREADS),
        metrics,
        checks.integer("max_batch_size", max_batch_size, 0, options.MOST_EXAMPLES),
        checks.within("batch_timeout", batch_timeout, 0, options.MOST_SECONDS),
    )


def _seconds(name: str, value: float) -> float:
    return checks.within(name, checks.positive(name, value), 0, options.MOST_SECONDS)
