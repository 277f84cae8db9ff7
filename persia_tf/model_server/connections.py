"""The connections of an HTTP server: limits their number and their idle time.

At the limit, a new connection replaces an open one whose client is not waiting for an
answer. Connections that have never sent a request are replaced first, then those that
are between two requests, then those whose request is still arriving; within each of
these kinds, the oldest connection is first. So idle or slow connections never keep new
ones out. Everything in this module runs on one event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Any, Optional

from persia_tf.model_server import log_limit

# Timeout of the TLS handshake.
_HANDSHAKE_SECONDS = 10.0

_SWEEP_SECONDS = 0.5
_CLOSED_AT_ONCE = 64

# The least interval between two warnings about the limit on connections.
_TELL_SECONDS = 60.0

# The kinds of connections that may be replaced, in the order of replacement. A
# connection whose request is being answered has no kind, and is not replaced.
_NEW, _IDLE, _ARRIVING = range(3)

_logger = log_limit.limited("persia.serve.http")


class Connections:
    """All open connections of an HTTP server.

    Args:
        most: The largest number of connections.
        idle_seconds: How long a connection may be without a request, before its first
            request or between two requests.
        answer_seconds: How long a client may take to read an answer.
        ended: Called with the reason when the server closes a connection: see
            `http_server.HttpServer`.
    """

    def __init__(
        self,
        most: int,
        idle_seconds: float,
        answer_seconds: float,
        ended: Callable[[str], None],
    ) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self.answer_seconds = answer_seconds
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._open: set[Connection] = set()
        self._leaving = 0
        self._tell_at = -math.inf
        # The connections that may be replaced, by kind. The dictionaries serve as sets
        # that keep insertion order: the oldest connection is first.
        self._replaceable: list[dict[Connection, None]] = [{}, {}, {}]
        self._by_protocol: dict[Any, Connection] = {}
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._sweeping = self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def __len__(self) -> int:
        return len(self._open)

    def of(self, protocol: asyncio.Protocol) -> Connection | None:
        """Returns the connection of a protocol; None if the connection is closed."""
        return self._by_protocol.get(protocol)

    async def room(self) -> None:
        """Waits until there is room for a new connection.

        At the limit, closes a connection to make room. While the server is answering a
        request on every connection, none can be closed, and this method waits.
        """
        while len(self._open) >= self._most:
            self._has_room.clear()
            # No connection is closed while an earlier one is still being closed, since
            # the earlier one will soon make room.
            if not self._leaving and not self._close_eldest():
                _logger.warning(
                    "%d connections are being answered, which is the limit: others "
                    "wait. Raise --max-connections, or put a proxy in front",
                    self._most,
                )
            await self._has_room.wait()

    def add(
        self,
        accepted: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        """Adds an accepted connection.

        Args:
            accepted: The connection's socket, which is closed with the connection.
            make_protocol: Called when the client's first bytes arrive, to create the
                protocol that receives them.
            tls: The TLS context. None: the connection is not encrypted.
        """
        connection = Connection(self, accepted, make_protocol, tls)
        self._open.add(connection)
        self._place(connection, _NEW)
        connection.wait()

    def close_one(self) -> None:
        """Closes the connection that is replaced next, to free a file descriptor."""
        self._close_eldest()

    def close_silent(self) -> None:
        """Closes the connections that have not sent a request yet."""
        for connection in list(self._replaceable[_NEW]):
            self._close(connection, "idle")

    def close(self) -> None:
        """Stops the timer that closes idle connections; open connections stay open."""
        self._sweeping.cancel()

    def _place(self, connection: Connection, kind: int | None) -> None:
        """Sets a connection's kind, and makes it the newest connection of this kind.

        The kind None means that the connection's request is being answered.
        """
        if connection.kind is not None:
            self._replaceable[connection.kind].pop(connection, None)
        connection.kind = kind
        if kind is not None and connection in self._open and not connection.is_leaving:
            connection.since = self._loop.time()
            self._replaceable[kind][connection] = None
            self._has_room.set()

    def _made(self, connection: Connection) -> None:
        self._by_protocol[connection.protocol] = connection

    def _remove(self, connection: Connection) -> None:
        if connection not in self._open:
            return
        self._open.remove(connection)
        self._leaving -= connection.is_leaving
        self._place(connection, None)
        self._by_protocol.pop(connection.protocol, None)
        self._has_room.set()

    def _close_eldest(self) -> bool:
        """Closes the connection that is replaced first, and returns True.

        Returns False if no connection may be replaced.
        """
        for kind in self._replaceable:
            for connection in kind:
                self._tell_of_limit()
                self._close(connection, "replaced")
                return True
        return False

    def _tell_of_limit(self) -> None:
        # The warnings have a limited rate, since logging one takes longer than
        # replacing a connection.
        if self._loop.time() >= self._tell_at:
            self._tell_at = self._loop.time() + _TELL_SECONDS
            _logger.warning(
                "%d connections are open, which is the limit: the most idle ones are "
                "closed for new ones. Raise --max-connections, or put a proxy in front",
                self._most,
            )

    def _sweep(self) -> None:
        """Closes the connections that have been idle for too long."""
        latest = self._loop.time() - self._idle_seconds
        idle = [
            connection
            for kind in (_NEW, _IDLE)
            for connection in itertools.takewhile(
                lambda each: each.since <= latest, self._replaceable[kind]
            )
        ]
        for connection in idle[:_CLOSED_AT_ONCE]:
            self._close(connection, "idle")
        # Thousands of connections may become idle at once. They are closed in portions,
        # so that the event loop can answer requests in between.
        again = 0.0 if len(idle) > _CLOSED_AT_ONCE else _SWEEP_SECONDS
        self._sweeping = self._loop.call_later(again, self._sweep)

    def _close(self, connection: Connection, reason: str) -> None:
        if connection.is_leaving or connection not in self._open:
            return
        self._place(connection, None)
        self._leaving += 1
        self._ended(reason)
        connection.abort()


class Connection(asyncio.Protocol):
    """A connection, which forwards the events of its socket to its protocol.

    Until the client's first bytes arrive, a connection is only a socket, so that silent
    clients use few resources.

    Attributes:
        protocol: The protocol that receives the client's bytes; None until the first
            bytes arrive.
        kind: One of the kinds of this module; None if the connection may not be
            replaced.
        since: When the connection got this kind, by the event loop's clock.
        is_leaving: Whether the connection was aborted.
    """

    def __init__(
        self,
        connections: Connections,
        accepted: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        tls: ssl.SSLContext | None,
    ) -> None:
        self._connections = connections
        self._loop = connections._loop
        self._socket = accepted
        self._make_protocol = make_protocol
        self._tls = tls
        self._connecting: Any = None
        self._transport: Optional[asyncio.Transport] = None  # noqa: UP045
        self.protocol: Any = None
        self.kind: Optional[int] = None  # noqa: UP045
        self.since = 0.0
        self.is_leaving = False

    def wait(self) -> None:
        """Starts to wait for the client's first bytes. Does not block."""
        self._loop.add_reader(self._socket, self._connect)

    @contextlib.contextmanager
    def request(self, has_arrived: bool) -> Iterator[None]:
        """Marks the connection as in use by a request.

        Args:
            has_arrived: Whether the request is complete. If not, the connection may be
                replaced until `arrived` is called.
        """
        self._connections._place(self, None if has_arrived else _ARRIVING)
        try:
            yield
        finally:
            self._connections._place(self, _IDLE)

    def arrived(self) -> None:
        """Records that the request is complete, so the connection is not replaced."""
        self._connections._place(self, None)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Aborts the connection if its client does not read the answer in time."""
        connections = self._connections
        late = self._loop.call_later(
            connections.answer_seconds, connections._close, self, "unread"
        )
        try:
            yield
        finally:
            late.cancel()

    def abort(self) -> None:
        """Closes the connection immediately; unsent data is lost."""
        self.is_leaving = True
        if self._transport is not None:
            self._transport.abort()
        elif self._connecting is not None:
            self._connecting.cancel()
        else:
            self._loop.remove_reader(self._socket)
            self._end()

    def _connect(self) -> None:
        """Handles the client's first bytes, or a close before the client sent any."""
        self._loop.remove_reader(self._socket)
        try:
            spoke = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:  # A spurious wake-up.
            return self.wait()
        except OSError:
            spoke = b""
        if not spoke:
            return self._end()
        patience = {"ssl_handshake_timeout": _HANDSHAKE_SECONDS} if self._tls else {}
        self._connecting = self._loop.create_task(
            self._loop.connect_accepted_socket(
                lambda: self, self._socket, ssl=self._tls, **patience
            )
        )
        self._connecting.add_done_callback(self._connected)

    def _connected(self, task: asyncio.Task[Any]) -> None:
        # A failed TLS handshake is not logged, since any client can cause one by
        # sending something other than TLS.
        if task.cancelled() or task.exception() is not None:
            self._end()

    def _end(self) -> None:
        self._socket.close()
        self._connections._remove(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        if self.is_leaving:
            self._transport.abort()
            return
        self.protocol = self._make_protocol()
        self._connections._made(self)
        self.protocol.connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections._remove(self)
        if self.protocol is not None:
            self.protocol.connection_lost(error)

    def data_received(self, data: bytes) -> None:
        self.protocol.data_received(data)

    def eof_received(self) -> bool | None:
        return self.protocol.eof_received()

    def pause_writing(self) -> None:
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        self.protocol.resume_writing()
