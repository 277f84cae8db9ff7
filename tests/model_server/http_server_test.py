"""Connections: how many at once, how long they may be idle, and how answers end."""

import asyncio
import contextlib
import http.client
import socket
import threading

import pytest
from aiohttp import web

from persia_tf.base.addresses import Address
from persia_tf.model_server.http_server import HttpServer, Limits

SECONDS = 60
LARGE = 64 << 20


class App:
    """Pages that answer at once, when a test says so, or at length."""

    def __init__(self):
        self.go_on = threading.Event()
        self.waiting = 0
        self.closed = []

    def application(self):
        application = web.Application()
        application.add_routes(
            [
                web.get("/short", self._short),
                web.get("/wait", self._wait),
                web.get("/large", self._large),
                web.post("/body", self._body),
            ]
        )
        return application

    async def _short(self, request):
        return web.Response(text="ok")

    async def _wait(self, request):
        self.waiting += 1
        await asyncio.get_running_loop().run_in_executor(None, self.go_on.wait, SECONDS)
        return web.Response(text="waited")

    async def _large(self, request):
        return web.Response(body=bytes(LARGE))

    async def _body(self, request):
        return web.Response(text=str(len(await request.read())))


@pytest.fixture
def app():
    made = App()
    yield made
    made.go_on.set()


@pytest.fixture
def start(app):
    """Starts a server with limits; it ends with the test."""
    with contextlib.ExitStack() as stack:

        def run(connections=100, idle_seconds=SECONDS, answer_seconds=SECONDS):
            server = HttpServer(
                app.application(),
                Address("127.0.0.1", 0),
                Limits(connections, idle_seconds, answer_seconds),
                app.closed.append,
            )
            stack.callback(server.stop, 5)
            stack.callback(app.go_on.set)
            return server

        yield run


@pytest.fixture
def connect():
    """Opens connections, which may send a text; they end with the test."""
    with contextlib.ExitStack() as stack:

        def open_one(server, text=b""):
            connection = socket.create_connection(server.address, timeout=SECONDS)
            stack.callback(connection.close)
            connection.sendall(text)
            return connection

        yield open_one


def get(server, path="/short"):
    connection = http.client.HTTPConnection(*server.address, timeout=SECONDS)
    try:
        connection.request("GET", path)
        return connection.getresponse().read()
    finally:
        connection.close()


def ends(connection):
    """Waits until the other end has closed the connection."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass
    return True


GET = b"GET /short HTTP/1.1\r\nHost: a\r\n"
POST = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"


@pytest.mark.parametrize("text", [b"", GET])
def test_a_new_connection_takes_the_place_of_the_eldest_that_waits(
    app, start, connect, text
):
    server = start(connections=4)
    opened = [connect(server, text) for _ in range(12)]
    assert get(server) == b"ok"
    assert all(ends(connection) for connection in opened[:8])
    assert set(app.closed) == {"replaced"}


def test_a_new_connection_takes_the_place_of_a_body_that_arrives(app, start, connect):
    server = start(connections=4)
    for _ in range(12):
        connect(server, POST + b"12345")
    assert get(server) == b"ok"
    assert len(app.closed) == 9 and set(app.closed) == {"replaced"}


def test_those_that_never_spoke_go_before_those_that_did(app, start, connect):
    server = start(connections=3)
    spoke = connect(server, GET + b"\r\n")
    assert spoke.recv(1 << 16).endswith(b"ok")
    silent = [connect(server) for _ in range(2)]
    assert get(server) == b"ok"
    assert ends(silent[0]) and app.closed == ["replaced"]
    spoke.sendall(GET + b"\r\n")
    assert spoke.recv(1 << 16).endswith(b"ok")


def test_a_request_that_is_answered_keeps_its_connection(
    app, start, connect, eventually
):
    server = start(connections=2)
    waiting = connect(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: app.waiting == 1, "the request")
    for _ in range(6):
        connect(server)
    assert get(server) == b"ok"
    app.go_on.set()
    assert waiting.recv(1 << 16).endswith(b"waited")


def test_a_connection_waits_while_all_others_are_answered(
    app, start, connect, eventually
):
    server = start(connections=1)
    first = connect(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: app.waiting == 1, "the first request")
    second = connect(server, GET + b"\r\n")
    second.settimeout(0.05)
    with pytest.raises(socket.timeout):
        second.recv(1)
    second.settimeout(SECONDS)
    app.go_on.set()
    assert first.recv(1 << 16).endswith(b"waited")
    assert second.recv(1 << 16).endswith(b"ok")


@pytest.mark.parametrize("text", [b"", GET, GET + b"\r\n"])
def test_an_idle_connection_is_closed(app, start, connect, text):
    server = start(idle_seconds=0.1)
    assert ends(connect(server, text))


def test_a_connection_with_requests_is_not_idle(app, start, connect, eventually):
    server = start(idle_seconds=0.1)
    waiting = connect(server, b"GET /wait HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: app.waiting == 1, "the request")
    assert ends(connect(server))
    app.go_on.set()
    assert b"waited" in waiting.recv(1 << 16)


def test_an_answer_that_is_not_read_is_cut_off(app, start, connect, eventually):
    server = start(answer_seconds=0.1)
    connect(server, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: app.closed == ["unread"], "the end of the connection")
    assert get(server) == b"ok"


def test_a_large_answer_that_is_read_is_whole(app, start):
    assert len(get(start(), "/large")) == LARGE
    assert app.closed == []


def test_requests_may_follow_each_other_in_one_connection(start, connect):
    connection = connect(start(), 2 * (GET + b"\r\n"))
    answers = b""
    while answers.count(b"ok") < 2:
        answers += connection.recv(1 << 16)


def test_what_is_no_http_is_logged_a_few_times(start, connect, caplog):
    server = start()
    for _ in range(50):
        assert ends(connect(server, b"GET / HTTP/1.1\r\nHost : a b\r\n\r\n"))
    assert len(caplog.records) <= 10


def test_a_name_with_several_addresses_has_one_port(app):
    server = HttpServer(
        app.application(), Address("localhost", 0), Limits(8, SECONDS, SECONDS)
    )
    try:
        assert get(server) == b"ok"
    finally:
        server.stop(5)


def test_its_end_closes_those_that_never_spoke(app, connect):
    server = HttpServer(
        app.application(), Address("127.0.0.1", 0), Limits(8, SECONDS, SECONDS)
    )
    connection = connect(server)
    assert get(server) == b"ok"
    server.stop(5)
    assert ends(connection)
