"""Runs the native server, with a control port for health checks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent import futures
from typing import TYPE_CHECKING, Any

import grpc

from persia_tf import errors, stats
from persia_tf.base.addresses import Address
from persia_tf.credentials.tls import Credentials
from persia_tf.native import capi, core_limits, events, servers
from persia_tf.processes import descriptors, grpc_port, health, memory
from persia_tf.processes.listening import Listening

if TYPE_CHECKING:
    from persia_tf.monitoring.endpoint import Endpoint

_CONTROL_GRACE_SECONDS = 1.0

# The number of seconds between checks of whether a server is ready.
_READY_SECONDS = 0.1


class Server:
    """A native server with health checks, which the constructor starts.

    When the constructor returns, a shard or an embedding worker is already serving; a
    worker connects to its shards when it first needs them. A replica also answers
    lookups by then, but health checks report it as serving only once it has received
    all rows.

    Args:
        kind: `servers.SHARD` for a shard or a replica, `servers.WORKER` for an
            embedding worker.
        service: The server's name in health checks.
        logger: The name of the logger that gets the server's events.
        listening: Where the server listens for health checks, and which clients it
            accepts. Health checks require neither a token nor a client certificate,
            since they reveal only the server's health; with TLS, the server presents
            its certificate. The server uses the same token and TLS when it connects to
            shards.
        values: The options of the native core, by name, without the credentials.

    Attributes:
        address: The address of the data port.
        control_address: The address of health checks.
        metrics: The endpoint of Prometheus's metrics; None if there is none.

    Raises:
        PersiaError: If the server cannot listen on one of the ports; if its address
            requires TLS or a token and it has neither; if it cannot read the data from
            which it should recover; or if a value is out of range.
    """

    def __init__(
        self,
        kind: int,
        service: str,
        logger: str,
        listening: Listening,
        values: Mapping[str, Any],
    ) -> None:
        descriptors.raise_limit(
            values.get("max_connections") or core_limits.MAX_CONNECTIONS
        )
        self._native = capi.library()
        self._is_freed = False
        self._health = health.Health(service, serving=False)
        self._stopping = threading.Event()
        self._reading = threading.Lock()
        self._events = events.EventLog(logging.getLogger(logger))
        try:
            self._server = servers.start(
                kind, {**values, **listening.core_values()}, self._events.handle
            )
        except BaseException:
            self._events.close()
            raise
        self.address = Address(
            listening.host, self._native.persia_server_port(self._server)
        )
        is_ready = self._is_ready()
        self.metrics: Endpoint | None = None
        try:
            self._start_metrics(listening, values)
            self._start_control(listening)
        except BaseException:
            self._free()
            raise
        self._watcher = threading.Thread(target=self._serve_once_ready)
        if not is_ready:
            self._watcher.start()

    def move_shard(self, index: int, address: str) -> None:
        """Makes an embedding worker use another address for one of its shards.

        Args:
            index: The shard's index in the worker's list of shards.
            address: The `"host:port"` to which the shard has moved.

        Raises:
            PersiaError: If this server is not an embedding worker, there is no such
                shard, or the address does not parse.
        """
        self._native.persia_server_move_shard(self._server, index, capi.utf8(address))

    def move_address(self, address: str, now_at: str) -> None:
        """Does the same for a shard that is not in the worker's list.

        Args:
            address: The `"host:port"` by which the shard's cluster knows it.
            now_at: The `"host:port"` to which the shard has moved.

        Raises:
            PersiaError: If this server is not an embedding worker, or `now_at` does not
                parse.
        """
        self._native.persia_server_move_address(
            self._server, capi.utf8(address), capi.utf8(now_at)
        )

    def stop(self, seconds: float) -> None:
        """Reports "not serving", finishes requests in flight, and stops.

        Args:
            seconds: How long requests in flight may take.

        Raises:
            PersiaError: If the native server reports a failure as it stops.
        """
        self._health.drain()
        self._stopping.set()
        if self._watcher.is_alive():
            self._watcher.join()
        try:
            self._native.persia_server_stop(self._server, seconds)
        finally:
            self._free()
            self._health.close()
            self._control.stop(_CONTROL_GRACE_SECONDS).wait()

    def _serve_once_ready(self) -> None:
        while not self._stopping.wait(_READY_SECONDS) and not self._is_ready():
            pass

    def _is_ready(self) -> bool:
        if not self._native.persia_server_is_ready(self._server):
            return False
        self._health.set_serving(True)
        return True

    def _free(self) -> None:
        if self.metrics is not None:
            self.metrics.close()
        with self._reading:
            self._native.persia_server_free(self._server)
            self._is_freed = True
        self._events.close()

    def _stats(self) -> stats.ProcessStats:
        with self._reading:
            if self._is_freed:
                raise errors.UnavailableError("the server has stopped")
            return stats.of_server(self._server)

    def _start_metrics(self, listening: Listening, values: Mapping[str, Any]) -> None:
        if listening.metrics_port is None:
            return
        from persia_tf.monitoring.endpoint import Endpoint
        from persia_tf.monitoring.server_metrics import ServerMetrics

        options = {"recovery": "recovery_folder", "checkpoint": "checkpoint_root"}
        folders = {
            name: values[option]
            for name, option in options.items()
            if values.get(option)
        }
        self.metrics = Endpoint(
            Address(listening.host, listening.metrics_port),
            [
                ServerMetrics(
                    *(self._stats, self._health.is_serving, folders),
                    memory_limit=memory.total_bytes(),
                )
            ],
            listening.tls_files,
        )

    def _start_control(self, listening: Listening) -> None:
        wanted = Address(listening.host, listening.control_port)
        tls = Credentials() if listening.control_plain else listening.tls
        pool = futures.ThreadPoolExecutor(health.MAX_WATCHES + health.CHECK_THREADS)
        self._control = grpc_port.make_server(pool)
        self._control.add_generic_rpc_handlers([self._health.handler()])
        credentials = None
        if tls:
            credentials = grpc.ssl_server_credentials([(tls.key, tls.certificate)])
        self.control_address = grpc_port.listen(
            self._control, wanted, "health checks", credentials
        )
        self._control.start()
