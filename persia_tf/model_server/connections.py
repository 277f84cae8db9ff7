"""The connections of an HTTP server: so many at once, and none idle for long.

Where there are as many as there may be, a new one takes the place of one that owes its
client nothing: first of those that never asked, then of those between two requests,
then of those whose request is arriving; the eldest of each goes first. So connections
that do nothing, or do it slowly, keep nobody out. All of it is of one event loop.
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

# For TLS to be agreed on.
_HANDSHAKE_SECONDS = 10.0

_SWEEP_SECONDS = 0.5
_CLOSED_AT_ONCE = 64

# From a word on the limit to the next.
_TELL_SECONDS = 60.0

# The kinds of connections whose place another may take, in their order. One that is
# being answered is of none of them.
_NEW, _IDLE, _ARRIVING = range(3)

_logger = log_limit.limited("persia.serve.http")


class Connections:
    """All connections of a server.

    Args:
        most: How many there may be.
        idle_seconds: How long one may be without a request that is being read or
            answered, before its first one or between two.
        answer_seconds: How long a client may take to read an answer.
        ended: Called with the reason, when one is closed for others' sake or its own.
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
        # Dictionaries keep the order in which they came.
        self._replaceable: list[dict[Connection, None]] = [{}, {}, {}]
        self._by_protocol: dict[Any, Connection] = {}
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._sweeping = self._loop.call_later(_SWEEP_SECONDS, self._sweep)

    def __len__(self) -> int:
        return len(self._open)

    def of(self, protocol: asyncio.Protocol) -> Connection | None:
        """Returns the connection whose bytes a protocol gets; None: it is gone."""
        return self._by_protocol.get(protocol)

    async def room(self) -> None:
        """Waits until there is room for a new connection, and makes some if it can.

        There is none if all that there are are being answered.
        """
        while len(self._open) >= self._most:
            self._has_room.clear()
            # Who was closed is gone soon, and then there is room.
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
        """Takes a connection that was accepted.

        Args:
            accepted: Its socket, which is closed with it.
            make_protocol: Makes what gets its bytes, once there are any.
            tls: How it is encrypted. None: it is not.
        """
        connection = Connection(self, accepted, make_protocol, tls)
        self._open.add(connection)
        self._place(connection, _NEW)
        connection.wait()

    def close_one(self) -> None:
        """Closes the eldest that owes its client nothing: descriptors are short."""
        self._close_eldest()

    def close_silent(self) -> None:
        """Closes those whose clients never spoke."""
        for connection in list(self._replaceable[_NEW]):
            self._close(connection, "idle")

    def close(self) -> None:
        """Ends the look after idle connections; closes none."""
        self._sweeping.cancel()

    def _place(self, connection: Connection, kind: int | None) -> None:
        """Puts a connection behind the others of a kind; None: it owes an answer."""
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
        """Closes one to make room, if it may; whether it did."""
        for kind in self._replaceable:
            for connection in kind:
                self._tell_of_limit()
                self._close(connection, "replaced")
                return True
        return False

    def _tell_of_limit(self) -> None:
        # Not for each connection: that would take longer than all else of it.
        if self._loop.time() >= self._tell_at:
            self._tell_at = self._loop.time() + _TELL_SECONDS
            _logger.warning(
                "%d connections are open, which is the limit: the idlest are closed "
                "for others. Raise --max-connections, or put a proxy in front",
                self._most,
            )

    def _sweep(self) -> None:
        """Closes those that have been idle for too long."""
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
        # Thousands may have come together: requests go on between their ends.
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
    """A connection: hands what happens to its protocol, which knows nothing of it.

    Until its client speaks it is a socket and no more: whoever does nothing costs
    little.

    Attributes:
        protocol: Gets its bytes; None until there are any.
        kind: Of those whose place others may take; None: of none of them.
        since: When it became of that kind, by the loop's clock.
        is_leaving: Whether it was aborted.
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
        """Waits for the client's first word."""
        self._loop.add_reader(self._socket, self._connect)

    @contextlib.contextmanager
    def request(self, has_arrived: bool) -> Iterator[None]:
        """Holds the connection for a request.

        Args:
            has_arrived: Whether all of the request is there. If not, another may take
                the connection's place until `arrived`.
        """
        self._connections._place(self, None if has_arrived else _ARRIVING)
        try:
            yield
        finally:
            self._connections._place(self, _IDLE)

    def arrived(self) -> None:
        """Says that all of the request is there: from now on it is being answered."""
        self._connections._place(self, None)

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        """Cuts the connection off if its client does not read an answer in time."""
        connections = self._connections
        late = self._loop.call_later(
            connections.answer_seconds, connections._close, self, "unread"
        )
        try:
            yield
        finally:
            late.cancel()

    def abort(self) -> None:
        """Ends it now, whatever its client has not read."""
        self.is_leaving = True
        if self._transport is not None:
            self._transport.abort()
        elif self._connecting is not None:
            self._connecting.cancel()
        else:
            self._loop.remove_reader(self._socket)
            self._end()

    def _connect(self) -> None:
        """The client spoke, or left."""
        self._loop.remove_reader(self._socket)
        try:
            spoke = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:  # It did neither after all.
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
        # Whoever connects may send what is no TLS: that is no news.
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
