"""A TCP proxy for tests: delays bytes, cuts connections, adds faults.

Faults are bytes that are lost, changed or duplicated. Bytes do not wait for the delay
of earlier bytes: all that arrive within one delay are in flight at once.

    with TcpProxy("127.0.0.1:7000", cuts=Cuts(seed=1, mean_bytes=100_000)) as proxy:
        connect_to(proxy.address)
        proxy.cut()
"""

from __future__ import annotations

import select
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence

from proxy_connection import Connection, Cuts
from stream_faults import Faults

__all__ = ["Cuts", "Faults", "TcpProxy"]

_BACKLOG = 128
_JOIN_SECONDS = 30
_SELECTABLE = 1024  # select() only accepts descriptors below this number.


class TcpProxy:
    """Listens on loopback and connects each client to a server.

    In a `with` block, a thread of the proxy moves all bytes. Methods and properties
    may be used from any thread.

    Args:
        to: "host:port" of the server.
        others: "host:port" of further servers: connections go to each in turn.
        delay: The delay of each direction, in seconds.
        cuts: Where connections are cut; None: only when `cut` is called.
        faults: The faults of connections; None: no faults.
        port: The port to listen on; 0: any free port.

    Attributes:
        port: The port that the proxy listens on.
        connections: The number of connections accepted so far.
        cut_connections: How many of these connections were cut.
        faulty_connections: How many connections have ended and had a fault.
    """

    def __init__(
        self,
        to: str,
        *,
        others: Sequence[str] = (),
        delay: float = 0.0,
        cuts: Cuts | None = None,
        faults: Faults | None = None,
        port: int = 0,
    ) -> None:
        self._servers = [_parsed(address) for address in (to, *others)]
        self._delay = delay
        self._cuts = cuts
        self._faults = faults
        self._open: set[Connection] = set()
        self.connections = self.cut_connections = self.faulty_connections = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        # Functions for the proxy's thread to call, as other threads request.
        self._asked: list[Callable[[], None]] = []
        self._waker, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self._selector = selectors.EpollSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._stopping = False
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """The "host:port" to connect to."""
        return f"127.0.0.1:{self.port}"

    def cut(self, reset: bool = True) -> None:
        """Cuts every open connection, and returns once that is done.

        Args:
            reset: Whether to reset connections; otherwise their streams end.
        """
        done = threading.Event()

        def cut_all() -> None:
            for connection in list(self._open):
                connection.cut(reset)
            self._forget_closed()
            done.set()

        self._ask(cut_all)
        if not done.wait(_JOIN_SECONDS):
            raise TimeoutError("the proxy does not run: it could not cut")

    def _run(self) -> None:
        """Passes bytes until the `with` block ends, then closes everything."""
        while not self._stopping:
            self._wait()
            now = time.monotonic()
            for key, events in self._selector.select(0):
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj is self._woken:
                    self._do_what_was_asked()
                elif events & selectors.EVENT_READ and key.data.is_open:
                    key.data.read(key.fileobj, now)
            now = time.monotonic()
            for connection in list(self._open):
                connection.advance(now)
            self._forget_closed()
        for connection in self._open:
            connection.close()
        self._selector.close()
        for sock in (self._listener, self._waker, self._woken):
            sock.close()

    def __enter__(self) -> TcpProxy:
        self._thread = threading.Thread(target=self._run, name="tcp_proxy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ask(lambda: setattr(self, "_stopping", True))
        self._thread.join(_JOIN_SECONDS)

    def _wait(self) -> None:
        times = [connection.wakes_at for connection in self._open]
        times = [wakes for wakes in times if wakes is not None]
        timeout = max(0.0, min(times) - time.monotonic()) if times else None
        wait_to_read(self._selector.fileno(), timeout)

    def _accept(self) -> None:
        try:
            client, _ = self._listener.accept()
        except OSError:
            return  # The client has disconnected already.
        to = self._servers[self.connections % len(self._servers)]
        family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
        server = socket.socket(family, socket.SOCK_STREAM)
        server.setblocking(False)
        server.connect_ex(to)  # If it fails, the first use of the socket fails.
        cut = self._cuts.of(self.connections) if self._cuts else None
        fault = self._faults.of(self.connections) if self._faults else None
        self.connections += 1
        self._open.add(
            Connection(self._selector, client, server, self._delay, cut, fault)
        )

    def _ask(self, what: Callable[[], None]) -> None:
        self._asked.append(what)
        try:
            self._waker.send(b"w")
        except OSError:
            pass  # The connection has ended.

    def _do_what_was_asked(self) -> None:
        self._woken.recv(1 << 12)
        while self._asked:
            self._asked.pop(0)()

    def _forget_closed(self) -> None:
        closed = {connection for connection in self._open if not connection.is_open}
        self._open -= closed
        self.cut_connections += sum(connection.was_cut for connection in closed)
        self.faulty_connections += sum(connection.had_fault for connection in closed)


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def wait_to_read(fileno: int, timeout: float | None) -> None:
    """Waits until a file is readable, if possible with a precision below 1 ms.

    epoll itself only waits for whole milliseconds.
    """
    if fileno < _SELECTABLE:
        select.select([fileno], [], [], timeout)
        return
    poll = select.poll()
    poll.register(fileno, select.POLLIN)
    poll.poll(None if timeout is None else timeout * 1000)
