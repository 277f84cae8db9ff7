"""A process that serves: the native server and its control port."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from concurrent import futures

import grpc

from persia_tf import _native, errors
from persia_tf.addresses import Address
from persia_tf.commands import health
from persia_tf.commands.listening import Listening

# Threads for Check beside those that watches hold.
_CHECK_THREADS = 4

_CONTROL_GRACE_SECONDS = 1.0


def shard(listening: Listening, *, checkpoint_root: str = "") -> Server:
    """Starts a parameter server shard with an empty store.

    Example:

    >>> server = shard(Listening("127.0.0.1"))
    >>> server.address.port
    >>> server.stop(seconds=20)

    Args:
        listening: Where, and for whom.
        checkpoint_root: The folder that checkpoints are kept in; `""`: there are
            none.

    Returns:
        The server, which serves already.

    Raises:
        PersiaError: If one of the ports cannot be listened on, or not without a
            token.
    """
    options = listening.native()

    def start(handle: _native.ServerHandle) -> None:
        _native.library().persia_server_start(
            ctypes.byref(options),
            *(_native.utf8(checkpoint_root), ctypes.byref(handle)),
        )

    return Server(listening, health.PS_SERVICE, start)


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
            the token is theirs, too.
        shards: The shards, in the order that every worker has.
        timeout: Seconds until a request that a shard does not answer fails.
        cache_rows: Hot rows of each table to keep copies of.

    Returns:
        The server, which serves already.

    Raises:
        PersiaError: If one of the ports cannot be listened on, or not without a
            token, or an argument is out of range.
    """
    options = listening.native()

    def start(handle: _native.ServerHandle) -> None:
        _native.library().persia_worker_start(
            ctypes.byref(options),
            _native.utf8(",".join(map(str, shards))),
            *(timeout, cache_rows, ctypes.byref(handle)),
        )

    return Server(listening, health.WORKER_SERVICE, start)


class Server:
    """A native server with health checks, serving from the moment it is made.

    Args:
        listening: Where, and for whom. What may listen for data may, on the same
            host, for health checks, which tell nothing else.
        service: What health checks call the server.
        start: Starts the native server and sets its handle.

    Raises:
        PersiaError: If one of the ports cannot be listened on.
    """

    def __init__(
        self,
        listening: Listening,
        service: str,
        start: Callable[[_native.ServerHandle], None],
    ) -> None:
        self._native = _native.library()
        self._health = health.Health(service)
        self._server = _native.ServerHandle()
        start(self._server)
        self.address = Address(
            listening.host, self._native.persia_server_port(self._server)
        )
        try:
            self._start_control(Address(listening.host, listening.control_port))
        except BaseException:
            self._native.persia_server_free(self._server)
            raise

    def stop(self, seconds: float) -> None:
        """Reports "not serving", finishes requests in flight, and ends.

        Args:
            seconds: How long requests in flight may take.

        Raises:
            PersiaError: If the native server does not stop as it should.
        """
        self._health.drain()
        try:
            self._native.persia_server_stop(self._server, seconds)
        finally:
            self._native.persia_server_free(self._server)
            self._health.close()
            self._control.stop(_CONTROL_GRACE_SECONDS).wait()

    def _start_control(self, wanted: Address) -> None:
        pool = futures.ThreadPoolExecutor(health.MAX_WATCHES + _CHECK_THREADS)
        # Without the option two processes could share one port unnoticed.
        self._control = grpc.server(pool, options=[("grpc.so_reuseport", 0)])
        self._control.add_generic_rpc_handlers([self._health.handler()])
        try:
            port = self._control.add_insecure_port(str(wanted))
        except RuntimeError as error:
            raise errors.UnavailableError(
                f"cannot listen on {wanted} for health checks; choose another "
                "control port, or 0 for any free one"
            ) from error
        self.control_address = wanted._replace(port=port)
        self._control.start()
