"""The TCP proxy, between real sockets."""

import contextlib
import fcntl
import os
import resource
import socket
import threading
import time

import pytest
import tcp_proxy
from proxy_connection import Cut, Cuts
from stream_faults import CORRUPT, DROP, DUPLICATE, TRUNCATE, Fault
from tcp_proxy import TcpProxy

DEADLINE_SECONDS = 60


class Echo:
    """A server that sends back what it gets, and closes when its client does."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.ended = threading.Semaphore(0)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            try:
                while got := client.recv(1 << 16):
                    client.sendall(got)
            except OSError:
                pass
        self.ended.release()

    def close(self):
        # If the socket were only closed, the thread would go on accepting.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Fixed:
    """Gives every connection the same cut, or the same fault."""

    def __init__(self, what):
        self._what = what

    def of(self, connection):
        return self._what


@pytest.fixture
def echo():
    server = Echo()
    yield server
    server.close()


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), DEADLINE_SECONDS)


def receive(sock, count):
    got = b""
    while len(got) < count:
        part = sock.recv(count - len(got))
        assert part, f"ended after {len(got)} of {count} bytes"
        got += part
    return got


def receive_until_cut(sock):
    """Returns the bytes that came, and whether a reset ended the connection."""
    got = b""
    while True:
        try:
            part = sock.recv(1 << 16)
        except ConnectionResetError:
            return got, True
        if not part:
            return got, False
        got += part


@pytest.mark.parametrize("delay", [0.0, 0.002])
def test_all_bytes_pass_both_ways_and_the_end_passes(echo, delay):
    sent = bytes(range(256)) * 40_000
    with TcpProxy(echo.address, delay=delay) as proxy:
        with connect(proxy.address) as client:
            sender = threading.Thread(target=client.sendall, args=(sent,))
            sender.start()
            assert receive(client, len(sent)) == sent
            sender.join()
            client.shutdown(socket.SHUT_WR)
            assert client.recv(1) == b""
        assert echo.ended.acquire(timeout=DEADLINE_SECONDS)


def test_an_answer_takes_both_delays(echo):
    with TcpProxy(echo.address, delay=0.05) as proxy, connect(proxy.address) as client:
        begin = time.monotonic()
        client.sendall(b"ping")
        assert receive(client, 4) == b"ping"
        assert time.monotonic() - begin >= 0.1


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("direction", [0, 1])
def test_a_cut_comes_after_its_bytes_exactly(echo, direction, reset):
    cuts = Fixed(Cut(direction=direction, after=1000, reset=reset, hold=0.0))
    with TcpProxy(echo.address, cuts=cuts) as proxy:
        with connect(proxy.address) as client:
            client.sendall(bytes(5000))
            got, was_reset = receive_until_cut(client)
        assert was_reset == reset
        # Bytes that are cut on the way there may also be cut on the way back.
        assert len(got) == 1000 if direction == 1 else len(got) <= 1000
        assert echo.ended.acquire(timeout=DEADLINE_SECONDS)
        with connect(proxy.address) as client:
            client.sendall(b"again")
            assert receive(client, 5) == b"again"
        assert proxy.connections == 2 and proxy.cut_connections == 1


def test_bytes_are_held_back_before_a_cut(echo):
    cuts = Fixed(Cut(direction=1, after=10, reset=True, hold=3600.0))
    with TcpProxy(echo.address, cuts=cuts) as proxy, connect(proxy.address) as client:
        client.sendall(bytes(20))
        receive(client, 10)
        client.settimeout(0.05)
        with pytest.raises(socket.timeout):
            client.recv(1)
        client.settimeout(DEADLINE_SECONDS)
        proxy.cut()
        assert receive_until_cut(client) == (b"", True)


@pytest.mark.parametrize("reset", [True, False])
def test_connections_are_cut_when_it_is_told_to(echo, reset):
    with TcpProxy(echo.address, delay=0.001) as proxy:
        clients = [connect(proxy.address) for _ in range(3)]
        for client in clients:
            client.sendall(b"hello")
            receive(client, 5)
        proxy.cut(reset)
        for client in clients:
            assert receive_until_cut(client) == (b"", reset)
            client.close()
            assert echo.ended.acquire(timeout=DEADLINE_SECONDS)
        with connect(proxy.address) as client:
            client.sendall(b"again")
            assert receive(client, 5) == b"again"


def test_a_server_that_is_down_resets_the_client(echo):
    echo.close()
    with TcpProxy(echo.address) as proxy:
        for _ in range(2):
            try:
                client = connect(proxy.address)
            except ConnectionResetError:
                continue  # A cut may come as early as this.
            with client:
                assert receive_until_cut(client) == (b"", True)
        assert proxy.cut_connections == 0


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CORRUPT, b"01\xcd\xcc\xcb56789"),
        (TRUNCATE, b"0156789"),
        (DUPLICATE, b"0123423456789"),
    ],
)
def test_a_fault_happens_to_the_bytes_of_its_direction(echo, kind, expected, direction):
    faults = Fixed(Fault(kind, direction, after=2, length=3, mask=255))
    with TcpProxy(echo.address, faults=faults) as proxy:
        with connect(proxy.address) as client:
            client.sendall(b"0123456789")
            client.shutdown(socket.SHUT_WR)
            assert receive_until_cut(client) == (expected, False)
        assert echo.ended.acquire(timeout=DEADLINE_SECONDS)
        proxy.cut()  # Returns once they are counted.
        assert proxy.faulty_connections == 1 and proxy.cut_connections == 0


@pytest.mark.parametrize("direction", [0, 1])
def test_dropped_bytes_never_come_and_the_connection_stays(echo, direction):
    faults = Fixed(Fault(DROP, direction, after=4))
    with TcpProxy(echo.address, delay=0.001, faults=faults) as proxy:
        with connect(proxy.address) as client:
            client.sendall(b"0123456789")
            assert receive(client, 4) == b"0123"
            client.settimeout(0.05)
            for _ in range(2):
                with pytest.raises(socket.timeout):
                    client.recv(1)
                client.sendall(b"more")
            client.settimeout(DEADLINE_SECONDS)
            client.shutdown(socket.SHUT_WR)
            assert receive_until_cut(client) == (b"", False)


def test_more_bytes_than_a_line_holds_pass_a_duplicate(echo):
    sent = bytes(range(256)) * 40_000
    faults = Fixed(Fault(DUPLICATE, direction=1, after=100_000, length=70_000))
    with TcpProxy(echo.address, faults=faults) as proxy:
        with connect(proxy.address) as client:
            sender = threading.Thread(target=client.sendall, args=(sent,))
            sender.start()
            got = receive(client, len(sent) + 70_000)
            sender.join()
    assert got == sent[:170_000] + sent[100_000:]


def test_cuts_are_those_of_their_seed():
    def drawn(seed):
        cuts = Cuts(seed, mean_bytes=1000, hold=0.5)
        return [cuts.of(connection) for connection in range(200)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert {(cut.direction, cut.reset) for cut in drawn(1)} == {
        (direction, reset) for direction in (0, 1) for reset in (True, False)
    }
    assert all(cut.after > 0 and 0 <= cut.hold <= 0.5 for cut in drawn(1))
    assert 700 < sum(cut.after for cut in drawn(1)) / 200 < 1300


@pytest.mark.parametrize("least", [0, 1024])
def test_any_file_can_be_waited_for(least):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard <= least:
        pytest.skip("no file may have so high a number")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    one, other = socket.socketpair()
    number = fcntl.fcntl(one, fcntl.F_DUPFD, least)
    try:
        assert number >= least
        tcp_proxy.wait_to_read(number, 0.0005)  # Not ready: it returns anyway.
        other.send(b"x")
        tcp_proxy.wait_to_read(number, None)
    finally:
        os.close(number)
        one.close()
        other.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_delay_may_be_for_ever():
    echo = Echo()
    with TcpProxy(echo.address, delay=3600) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(b"x")
            client.settimeout(0.05)
            with pytest.raises(TimeoutError):
                client.recv(1)
