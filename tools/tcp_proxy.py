"""A TCP proxy for tests and benchmarks: delays bytes, cuts connections, adds faults.

Faults are bytes that are lost, changed or duplicated.

    python tools/tcp_proxy.py --to 127.0.0.1:7000 --port-file port --delay-ms 10
    python tools/tcp_proxy.py --to 127.0.0.1:7000 --cut-bytes 1000000 --seed 1
    python tools/tcp_proxy.py --to 127.0.0.1:7000 --fault-bytes 100000 --faults drop

A delay adds latency without limiting the throughput: all bytes that arrive within the
delay are in flight at once. As a program, the proxy ends at SIGTERM or SIGINT, and cuts
every connection at SIGUSR1. In a test:

    with TcpProxy("127.0.0.1:7000", cuts=Cuts(seed=1, mean_bytes=100_000)) as proxy:
        connect_to(proxy.address)
        proxy.cut()
"""

from __future__ import annotations

import argparse
import select
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

from proxy_connection import Connection, Cuts
from stream_faults import KINDS, Faults

__all__ = ["Cuts", "Faults", "TcpProxy"]

_BACKLOG = 128
_JOIN_SECONDS = 30
_SELECTABLE = 1024  # select() only accepts descriptors below this number.


class TcpProxy:
    """Listens on loopback and connects each client to one server.

    One thread moves all bytes: the caller of `run`, or in a `with` block a thread of
    the proxy. Methods and properties may be used from any thread.

    Args:
        to: "host:port" of the server.
        delay: The delay of each direction, in seconds.
        cuts: Where connections are cut; None: only when `cut` is called.
        faults: The faults of connections; None: no faults.
        port: The port to listen on; 0: any free port.

    Attributes:
        port: The port that it listens on.
        connections: The number of connections accepted so far.
        cut_connections: How many of them were cut.
        faulty_connections: How many of those that have ended had a fault.
        passed_bytes: The bytes of ended connections, in both directions.
    """

    def __init__(
        self,
        to: str,
        *,
        delay: float = 0.0,
        cuts: Cuts | None = None,
        faults: Faults | None = None,
        port: int = 0,
    ) -> None:
        host, _, to_port = to.rpartition(":")
        self._to = (host.strip("[]"), int(to_port))
        self._delay = delay
        self._cuts = cuts
        self._faults = faults
        self._open: set[Connection] = set()
        self.connections = self.cut_connections = self.passed_bytes = 0
        self.faulty_connections = 0
        self._listener = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        # Calls that other threads and signal handlers request of the running thread.
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
        self.post_cut(reset, done)
        if not done.wait(_JOIN_SECONDS):
            raise TimeoutError("the proxy does not run: it could not cut")

    def post_cut(self, reset: bool = True, done: threading.Event | None = None) -> None:
        """Requests what `cut` does, without waiting; sets `done` once it is done."""

        def cut_all() -> None:
            for connection in list(self._open):
                connection.cut(reset)
            self._forget_closed()
            if done:
                done.set()

        self._ask(cut_all)

    def stop(self) -> None:
        """Makes `run` return."""
        self._ask(lambda: setattr(self, "_stopping", True))

    def run(self) -> None:
        """Passes bytes until `stop`, then closes everything."""
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
        self._thread = threading.Thread(target=self.run, name="tcp_proxy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
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
        family = socket.AF_INET6 if ":" in self._to[0] else socket.AF_INET
        server = socket.socket(family, socket.SOCK_STREAM)
        server.setblocking(False)
        server.connect_ex(self._to)  # If it fails, the first use of the socket fails.
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
        self.passed_bytes += sum(connection.bytes for connection in closed)
        self.cut_connections += sum(connection.was_cut for connection in closed)
        self.faulty_connections += sum(connection.had_fault for connection in closed)


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


def main() -> None:
    arguments = parse_arguments()
    cuts = None
    if arguments.cut_bytes:
        cuts = Cuts(arguments.seed, arguments.cut_bytes, arguments.hold_ms / 1e3)
    faults = None
    if arguments.fault_bytes:
        faults = Faults(arguments.seed, arguments.fault_bytes, arguments.faults)
    proxy = TcpProxy(
        arguments.to,
        delay=arguments.delay_ms / 1e3,
        cuts=cuts,
        faults=faults,
        port=arguments.port,
    )
    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, lambda *_: proxy.stop())
    signal.signal(signal.SIGUSR1, lambda *_: proxy.post_cut())
    if arguments.port_file:
        partial = arguments.port_file.with_suffix(".part")
        partial.write_text(f"{proxy.port}\n")
        partial.replace(arguments.port_file)  # Atomic: readers wait for the file.
    print(proxy.port, flush=True)
    proxy.run()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--to", required=True, type=_address, metavar="HOST:PORT")
    add("--port", type=int, default=0, help="to listen on; 0: any free one")
    add("--port-file", type=Path, help="written with the port, which is printed too")
    add("--delay-ms", type=float, default=0, help="of each direction (%(default)s)")
    add("--cut-bytes", type=int, help="cut connections after so many bytes on average")
    add(
        "--hold-ms", type=float, default=0, help="hold bytes up to so long before a cut"
    )
    add("--fault-bytes", type=int, help="a fault after so many bytes on average")
    add("--faults", nargs="+", choices=KINDS, default=KINDS, help="which (all)")
    add("--seed", type=int, default=0, help="of cuts and faults (%(default)s)")
    return parser.parse_args()


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise argparse.ArgumentTypeError(f"must be host:port. Received: {text!r}")
    return text


if __name__ == "__main__":
    main()
