"""Runs the native server, with a control port for health checks."""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Sequence
from concurrent import futures

import grpc

from persia_tf import _native, events
from persia_tf.addresses import Address
from persia_tf.commands import grpc_port, health, memory
from persia_tf.commands.listening import Listening
from persia_tf.commands.recovering import Recovery
from persia_tf.tls import Credentials

_CONTROL_GRACE_SECONDS = 1.0

# Seconds between checks whether a server is ready.
_READY_SECONDS = 0.1


def shard(
    listening: Listening,
    *,
    checkpoint_root: str = "",
    recovery: Recovery = Recovery(),  # noqa: B008 (it is frozen)
    memory_limit: int = memory.UNLIMITED,
    max_tables: int = 0,
) -> Server:
    """Starts a parameter server shard, which is empty unless it recovers rows.

    Example:

    >>> server = shard(Listening("127.0.0.1"))
    >>> server.address.port
    >>> server.stop(seconds=20)

    Args:
        listening: The ports, and which clients are accepted.
        checkpoint_root: The folder for checkpoints; `""`: there are no checkpoints.
        recovery: How the shard recovers after it was killed.
        memory_limit: Bytes that all tables may take; 0: unlimited.
        max_tables: The most tables; 0: unlimited.

    Returns:
        The server, which is already serving.

    Raises:
        PersiaError: If it cannot listen on one of the ports, or must not listen there
            without TLS or a token; or if it cannot read the data to recover from.
    """
    shard_options = _native.ShardOptions(
        checkpoint_root=_native.utf8(checkpoint_root),
        memory_limit_bytes=memory_limit,
        max_tables=max_tables,
        **recovery.native(),
    )

    return Server(*(listening, health.PS_SERVICE, "persia.ps"), _starter(shard_options))


def replica(
    listening: Listening,
    *,
    source: Address,
    memory_limit: int = memory.UNLIMITED,
    max_tables: int = 0,
) -> Server:
    """Starts a replica, which follows a shard.

    Args:
        listening: As for `shard`. Its token and TLS are also used for the source.
        source: The shard to follow.
        memory_limit: As for `shard`.
        max_tables: As for `shard`.

    Returns:
        The server. It already answers, but health checks report that it is serving
        only once it has received all rows.

    Raises:
        PersiaError: If it cannot listen on one of the ports, or must not listen there
            without TLS or a token.
    """
    shard_options = _native.ShardOptions(
        memory_limit_bytes=memory_limit,
        max_tables=max_tables,
        replica_of=_native.utf8(str(source)),
    )
    return Server(*(listening, health.PS_SERVICE, "persia.ps"), _starter(shard_options))


def worker(
    listening: Listening,
    *,
    shards: Sequence[Address],
    timeout: float,
    cache_rows: int,
) -> Server:
    """Starts an embedding worker, which connects to its shards on first use.

    Args:
        listening: As for `shard`. The same number of further threads talk to the
            shards, with the same token and TLS.
        shards: The shards, in the same order for all workers.
        timeout: Seconds after which a request without an answer from a shard fails.
        cache_rows: How many hot rows of each table to hold copies of.

    Returns:
        The server, which is already serving.

    Raises:
        PersiaError: If it cannot listen on one of the ports, or must not listen there
            without TLS or a token; or if an argument is out of range.
    """

    def start(options: _native.ServerOptions, handle: _native.ServerHandle) -> None:
        _native.library().persia_worker_start(
            ctypes.byref(options),
            _native.utf8(",".join(map(str, shards))),
            *(timeout, cache_rows, ctypes.byref(handle)),
        )

    return Server(listening, health.WORKER_SERVICE, "persia.worker", start)


def _starter(
    shard_options: _native.ShardOptions,
) -> Callable[[_native.ServerOptions, _native.ServerHandle], None]:
    def start(options: _native.ServerOptions, handle: _native.ServerHandle) -> None:
        _native.library().persia_server_start(
            ctypes.byref(options), ctypes.byref(shard_options), ctypes.byref(handle)
        )

    return start


class Server:
    """A native server with health checks, which the constructor starts.

    Args:
        listening: The ports, and which clients are accepted. Health checks use the same
            host. They require neither a token nor a client certificate, since they
            reveal nothing but the health; with TLS they show the server's certificate.
        service: The server's name in health checks.
        logger: The name of the logger that gets the server's events.
        start: Starts the native server with the given options, and sets its handle.

    Raises:
        PersiaError: If it cannot listen on one of the ports.
    """

    def __init__(
        self,
        listening: Listening,
        service: str,
        logger: str,
        start: Callable[[_native.ServerOptions, _native.ServerHandle], None],
    ) -> None:
        self._native = _native.library()
        self._health = health.Health(service, serving=False)
        self._stopping = threading.Event()
        self._server = _native.ServerHandle()
        self._events = events.EventLog(logging.getLogger(logger))
        options = listening.native()
        options.events = self._events.handle
        try:
            start(options, self._server)
        except BaseException:
            self._events.close()
            raise
        self.address = Address(
            listening.host, self._native.persia_server_port(self._server)
        )
        is_ready = self._is_ready()
        try:
            self._start_control(
                Address(listening.host, listening.control_port), listening.tls
            )
        except BaseException:
            self._free()
            raise
        self._watcher = threading.Thread(target=self._serve_once_ready)
        if not is_ready:
            self._watcher.start()

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
        self._native.persia_server_free(self._server)
        self._events.close()

    def _start_control(self, wanted: Address, tls: Credentials) -> None:
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
