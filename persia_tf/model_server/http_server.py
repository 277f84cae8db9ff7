"""An HTTP server on a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import errno
import itertools
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from aiohttp import web

from persia_tf import errors
from persia_tf.base.addresses import Address
from persia_tf.model_server import log_limit
from persia_tf.model_server.connections import Connection, Connections

# The timeout for starting the server. Stopping may take this long in addition to the
# time that requests in flight get.
_SECONDS = 20.0

# aiohttp's own timeout for requests in flight when the server stops. It is so long that
# the timeout of `stop` always comes first.
_DRAIN_SECONDS = 3600.0

# The largest number of connections that may wait in the kernel to be accepted.
_BACKLOG = 1024

_ACCEPTED_AT_ONCE = 8

# Errors of `accept` that mean a lack of file descriptors or memory, and the pause
# before the next attempt.
_SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_SHORT_SECONDS = 0.2

# The pause after any other error of `accept`, for instance because the client has
# already closed the connection.
_GONE_SECONDS = 0.01

# Errors that mean that this machine does not have the address to listen on.
_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)

_T = TypeVar("_T")
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# For each asyncio task that answers a request: the connection of the request, and the
# context managers to exit once the answer is sent.
_connection: contextvars.ContextVar[Connection] = contextvars.ContextVar("connection")
_held: contextvars.ContextVar[contextlib.ExitStack] = contextvars.ContextVar("held")

_logger = log_limit.limited("persia.serve.http")


def arrived() -> None:
    """Records that the body of this asyncio task's request is complete.

    From now on, a new connection cannot replace the request's connection.
    """
    _connection.get().arrived()


def until_sent(held: contextlib.AbstractContextManager[_T]) -> _T:
    """Enters a context manager, and exits it once this task's answer is sent."""
    return _held.get().enter_context(held)


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits on the connections of an HTTP server.

    Attributes:
        connections: How many connections there may be at a time.
        idle_seconds: How long a connection may be without a request.
        answer_seconds: How long a client may take to read an answer.
    """

    connections: int
    idle_seconds: float
    answer_seconds: float


class HttpServer:
    """An HTTP server, which serves from its construction until `stop`.

    Args:
        application: The aiohttp application that answers the requests.
        wanted: The address to listen on; port 0: any free port.
        limits: Limits on connections.
        ended: Called with the reason when the server itself closes a connection:
            "replaced" by a new one, "idle", or "unread" if the client does not read an
            answer in time.
        tls: The TLS context. None: connections are not encrypted.

    Attributes:
        address: The address on which the server listens.

    Raises:
        UnavailableError: If the server cannot listen on the address `wanted`.
    """

    def __init__(
        self,
        application: web.Application,
        wanted: Address,
        limits: Limits,
        ended: Callable[[str], None] = lambda _: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:

        @web.middleware  # This decorator does not accept bound methods.
        async def hold(request: web.Request, handler: _Handler) -> web.StreamResponse:
            return await self._hold(request, handler)

        application.middlewares.insert(0, hold)
        self._runner = web.AppRunner(
            application,
            access_log=None,
            handle_signals=False,
            shutdown_timeout=_DRAIN_SECONDS,
            keepalive_timeout=limits.idle_seconds,
            auto_decompress=False,
            logger=_logger,
        )
        self._limits = limits
        self._tls = tls
        self._accepting: list[asyncio.Task[None]] = []
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(_tell)
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="persia-rest", daemon=True
        )
        self._thread.start()
        try:
            self.address = wanted._replace(port=self._run(self._start(wanted, ended)))
        except OSError as error:
            self._run(self._end())
            self._end_thread()
            raise errors.UnavailableError(
                f"cannot listen on {wanted} for REST: {error}; choose another port, or "
                "0 for any free one"
            ) from error

    def stop(self, seconds: float) -> None:
        """Stops listening at once; waits up to `seconds` for requests in flight."""
        try:
            self._run(asyncio.wait_for(self._end(), seconds), seconds)
        except asyncio.TimeoutError:
            pass  # Requests that are still in flight are aborted.
        self._end_thread()

    async def _start(self, wanted: Address, ended: Callable[[str], None]) -> int:
        limits = self._limits
        self._connections = Connections(
            *(limits.connections, limits.idle_seconds, limits.answer_seconds),
            ended,
        )
        await self._runner.setup()
        listeners = _listen(wanted.host, wanted.port)
        for listener in listeners:
            self._accepting.append(self._loop.create_task(self._accept(listener)))
        return listeners[0].getsockname()[1]

    async def _accept(self, listener: socket.socket) -> None:
        """Accepts connections up to the limit; asyncio itself would have no limit."""
        with listener:
            for count in itertools.count():
                if count % _ACCEPTED_AT_ONCE == 0:
                    # Lets the event loop serve the connections accepted so far.
                    await asyncio.sleep(0)
                try:
                    accepted, _ = await self._loop.sock_accept(listener)
                except OSError as error:
                    await self._rest(error)
                    continue
                with _closing_unless_done(accepted):
                    await self._connections.room()
                self._connections.add(accepted, self._runner.server, self._tls)

    async def _rest(self, error: OSError) -> None:
        """Pauses after a connection could not be accepted."""
        if error.errno not in _SHORT:
            return await asyncio.sleep(_GONE_SECONDS)
        _logger.error("A connection cannot be accepted yet, so it waits: %s", error)
        self._connections.close_one()
        await asyncio.sleep(_SHORT_SECONDS)

    async def _hold(
        self, request: web.Request, handler: _Handler
    ) -> web.StreamResponse:
        """Answers a request.

        Once the request is complete, a new connection cannot replace its connection.
        """
        connection = self._connections.of(request.protocol)
        if connection is None:
            return web.Response()  # The connection is closed already.
        is_whole = not request.can_read_body
        with connection.request(is_whole), contextlib.ExitStack() as held:
            _connection.set(connection)
            _held.set(held)
            response = await handler(request)
            connection.arrived()
            # If the client has closed the connection, that is no error of the server.
            # aiohttp also detects it.
            with connection.answering(), contextlib.suppress(ConnectionError):
                await response.prepare(request)
                await response.write_eof()
        return response

    async def _end(self) -> None:
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        self._connections.close_silent()
        await self._runner.cleanup()
        self._connections.close()

    def _run(self, coroutine, seconds: float = 0.0):
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(seconds + _SECONDS)

    def _end_thread(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _listen(host: str, port: int) -> list[socket.socket]:
    """Returns sockets that listen on all addresses of a host, at one port."""
    found = socket.getaddrinfo(
        *(host, port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    listeners: list[socket.socket] = []
    absent = None
    with contextlib.ExitStack() as stack:
        for family, address in dict.fromkeys((each[0], each[4]) for each in found):
            place = (address[0], port, *address[2:])
            try:
                listener = socket.create_server(place, family=family, backlog=_BACKLOG)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                # The host's name may have an IPv6 address although this machine has no
                # IPv6. Such an address is skipped.
                absent = error
                continue
            stack.enter_context(_closing_unless_done(listener))
            listener.setblocking(False)
            listeners.append(listener)
            port = listener.getsockname()[1]
    if absent is not None and not listeners:
        raise absent
    return listeners


@contextlib.contextmanager
def _closing_unless_done(opened: socket.socket):
    try:
        yield
    except BaseException:
        opened.close()
        raise


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Logs asyncio's errors, at a limited rate."""
    _logger.error(
        "The REST server: %s", context.get("message"), exc_info=context.get("exception")
    )
