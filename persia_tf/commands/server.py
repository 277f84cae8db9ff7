"""A process that serves: the native server and its control port."""

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

# How often it is looked whether a server is ready.
_READY_SECONDS = 0.1


def shard(
    listening: Listening,
    *,
    checkpoint_root: str = "",
    recovery: Recovery = Recovery(),  # noqa: B008 (it is frozen)
    memory_limit: int = memory.UNLIMITED,
    max_tables: int = 0,
) -> Server:
    """Starts a parameter server shard, which is empty unless it comes back.

    Example:

    >>> server = shard(Listening("127.0.0.1"))
    >>> server.address.port
    >>> server.stop(seconds=20)

    Args:
        listening: Where, and for whom.
        checkpoint_root: The folder that checkpoints are kept in; `""`: there are
            none.
        recovery: How it comes back after it was killed.
        memory_limit: Bytes that all tables may take; 0: unlimited.
        max_tables: How many there may be; 0: unlimited.

    Returns:
        The server, which serves already.

    Raises:
        PersiaError: If one of the ports cannot be listened on, or not without TLS
            or a token, or if what it should come back from cannot be read.
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
    """Starts a replica of a shard, which follows it.

    Args:
        listening: As for `shard`. The token and TLS are the source's, too.
        source: The shard.
        memory_limit: As for `shard`.
        max_tables: As for `shard`.

    Returns:
        The server, which answers already, and reports that it serves once it has
        had all rows.

    Raises:
        PersiaError: If one of the ports cannot be listened on, or not without TLS
            or a token.
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
        listening: As for `shard`. As many threads again are for the shards, and
            the token and TLS are theirs, too.
        shards: The shards, in the order that every worker has.
        timeout: Seconds until a request that a shard does not answer fails.
        cache_rows: Hot rows of each table to keep copies of.

    Returns:
        The server, which serves already.

    Raises:
        PersiaError: If one of the ports cannot be listened on, or not without TLS
            or a token, or an argument is out of range.
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
    """A native server with health checks, serving from the moment it is made.

    Args:
        listening: Where, and for whom. What may listen for data may, on the same
            host, for health checks, which tell nothing else. They ask for no token
            and no certificate, but show the server's.
        service: What health checks call the server.
        logger: The name of the logger that gets what the server has to tell.
        start: Starts the native server with such options and sets its handle.

    Raises:
        PersiaError: If one of the ports cannot be listened on.
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
        """Reports "not serving", finishes requests in flight, and ends.

        Args:
            seconds: How long requests in flight may take.

        Raises:
            PersiaError: If the native server does not stop as it should.
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
