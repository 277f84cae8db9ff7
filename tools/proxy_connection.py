"""A connection through the TCP proxy: two sockets, and a delay line each way."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import selectors
import socket
import struct

from delay_line import DelayLine
from stream_faults import Fault, FaultyStream

_LINE_BYTES = 4 << 20  # The most bytes on their way in one direction.
# SO_LINGER with time 0: close drops unsent bytes and resets the connection.
_RESET = struct.pack("ii", 1, 0)


@dataclasses.dataclass(frozen=True)
class Cut:
    """Where and how one connection is cut.

    Attributes:
        direction: 0: from the client, 1: to the client.
        after: How many bytes pass in that direction before the cut.
        reset: Whether to reset the connection; otherwise the stream ends, even in the
            middle of a message.
        hold: For how many seconds the connection passes no bytes before it is cut.
    """

    direction: int
    after: int
    reset: bool
    hold: float


@dataclasses.dataclass(frozen=True)
class Cuts:
    """Random cuts, one per connection, determined by the seed.

    Attributes:
        seed: The seed of the cuts.
        mean_bytes: How many bytes pass on average before a connection is cut.
        hold: The largest `hold` of a cut, in seconds.
    """

    seed: int
    mean_bytes: int
    hold: float = 0.0

    def of(self, connection: int) -> Cut:
        """Returns the cut of the `connection`-th connection."""
        drawn = random.Random(f"{self.seed}/{connection}")
        return Cut(
            direction=drawn.randrange(2),
            after=1 + int(drawn.expovariate(1 / self.mean_bytes)),
            reset=drawn.random() < 0.5,
            hold=drawn.uniform(0, self.hold),
        )


class Connection:
    """Passes bytes between two sockets until both directions end. Not thread-safe.

    Args:
        selector: The selector at which the connection registers its sockets, with
            itself as data.
        client: The accepted socket, which the connection owns from now on.
        server: A connected or connecting socket, which the connection owns too.
        delay: The delay of each direction, in seconds.
        cut: Where the connection is cut, or None.
        fault: The fault in the connection's bytes, or None.
    """

    def __init__(
        self,
        selector: selectors.BaseSelector,
        client: socket.socket,
        server: socket.socket,
        delay: float,
        cut: Cut | None,
        fault: Fault | None = None,
    ) -> None:
        self._selector = selector
        self._cut = cut
        self._cut_at: float | None = None
        self._faulty = FaultyStream(fault) if fault else None
        lines = tuple(
            DelayLine(
                delay,
                _LINE_BYTES,
                self._faulty if fault and fault.direction == direction else None,
            )
            for direction in (0, 1)
        )
        # (socket, the line that it fills, the line that drains into it)
        self._ends = ((client, *lines), (server, *lines[::-1]))
        self._lines = lines
        self._interest = {client: 0, server: 0}
        self._shut: set[socket.socket] = set()
        self._discards = False
        self.is_open = True
        self.was_cut = False
        for sock in self._interest:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._set_interest()

    @property
    def had_fault(self) -> bool:
        """Whether its fault has happened."""
        return self._faulty is not None and self._faulty.happened

    @property
    def wakes_at(self) -> float | None:
        """When `advance` must be called even if no socket is ready, or None."""
        if self._discards:
            return None
        if self._cut_at is not None:
            return self._cut_at
        times = [line.next_due for line in self._lines]
        return min((time for time in times if time is not None), default=None)

    def read(self, sock: socket.socket, now: float) -> None:
        """Reads from a readable socket."""
        if self._discards:
            self._discard(sock)
            return
        for end, fills, _ in self._ends:
            if end is sock and fills.wants_bytes:
                self._guarded(fills.fill, sock, now)

    def advance(self, now: float) -> None:
        """Passes due bytes on, cuts if that is due, and closes ended directions."""
        if not self.is_open or self._discards:
            return
        if self._cut_at is not None:
            if now >= self._cut_at:
                self.cut(self._cut.reset)
            return
        for direction, (_, line, _) in enumerate(self._ends):
            sink = self._ends[1 - direction][0]
            self._guarded(line.drain, sink, now, self._limit(direction))
            if not self.is_open:
                return
            if line.is_done and sink not in self._shut:
                self._shut.add(sink)
                self._guarded(sink.shutdown, socket.SHUT_WR)
                if not self.is_open:
                    return
        if len(self._shut) == 2:
            self.close()
        elif self._is_cut_due():
            self._cut_at = now + self._cut.hold
            self._set_interest()
            self.advance(now)
        else:
            self._set_interest()

    def cut(self, reset: bool = True) -> None:
        """Ends both sides at once, even in the middle of a message."""
        if not self.is_open:
            return
        self.was_cut = True
        if not reset:
            # A close with unread bytes would reset the connection: discard them.
            self._discards = True
            for sock in self._interest:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_WR)
            self._set_interest()
            return
        for sock in self._interest:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close()

    def close(self) -> None:
        """Closes both sockets."""
        self.is_open = False
        for sock, interest in self._interest.items():
            if interest:
                self._selector.unregister(sock)
            sock.close()

    def _limit(self, direction: int) -> int | None:
        cut = self._cut
        return cut.after if cut and cut.direction == direction else None

    def _is_cut_due(self) -> bool:
        cut = self._cut
        return bool(cut) and self._lines[cut.direction].passed >= cut.after

    def _guarded(self, call, *arguments) -> None:
        """Calls a function; if it finds a socket broken, resets both sockets."""
        try:
            call(*arguments)
        except BlockingIOError:
            pass
        except OSError:
            was_cut = self.was_cut
            self.cut(reset=True)
            self.was_cut = was_cut

    def _discard(self, sock: socket.socket) -> None:
        try:
            ended = not sock.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            ended = True
        if ended:
            self._shut.add(sock)
            self._set_interest()
            if self._shut >= set(self._interest):
                self.close()

    def _set_interest(self) -> None:
        for sock, fills, drains in self._ends:
            if self._discards:
                wants = 0 if sock in self._shut else selectors.EVENT_READ
            elif self._cut_at is not None:
                wants = 0
            else:
                wants = selectors.EVENT_READ if fills.wants_bytes else 0
                wants |= selectors.EVENT_WRITE if drains.has_due_bytes else 0
            had = self._interest[sock]
            self._interest[sock] = wants
            if wants and had and wants != had:
                self._selector.modify(sock, wants, self)
            elif wants and not had:
                self._selector.register(sock, wants, self)
            elif had and not wants:
                self._selector.unregister(sock)
