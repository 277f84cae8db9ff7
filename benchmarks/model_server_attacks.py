"""The attacks of model_server_flood.py on a server, run in a separate process.

    python benchmarks/model_server_attacks.py idle 127.0.0.1:8501 clicks 10000

Prints "ready" once the attack is running, and continues until its input ends; then it
prints, as JSON, how often the server closed a connection or refused a request.
"""

from __future__ import annotations

import collections
import gzip
import http.client
import json
import os
import random
import select
import socket
import sys
import threading
import time
from collections.abc import Callable

# Several source addresses, since one has fewer ports than an attack has connections.
_SOURCES = [f"127.0.0.{last}" for last in range(2, 18)]

# How fast connections that the server closed are opened again.
_AGAIN_PER_SECOND = 500

_MIB = 1 << 20

Counts = collections.Counter


class Attack:
    """An attack's target, and the counters of its outcome.

    Args:
        address: The server's address for REST: HOST:PORT.
        model: The model's name.
        count: The number of connections.
    """

    def __init__(self, address: str, model: str, count: int) -> None:
        host, _, port = address.partition(":")
        self.place = (host, int(port))
        self.path = f"/v1/models/{model}:predict"
        self.count = count
        self.counts: Counts = Counts()
        self.over = threading.Event()

    def post(self, body: bytes, **headers: str) -> None:
        """Requests a prediction and counts the status of the answer."""
        connection = http.client.HTTPConnection(*self.place, timeout=60)
        try:
            connection.request("POST", self.path, body, headers)
            self.counts[str(connection.getresponse().status)] += 1
        except (OSError, http.client.HTTPException):
            self.counts["closed"] += 1
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        source = (random.choice(_SOURCES), 0)
        return socket.create_connection(self.place, timeout=60, source_address=source)

    def head(self, length: int) -> bytes:
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n"
        ).encode()


def idle(attack: Attack, ready: Callable[[], None]) -> None:
    """Holds connections that send nothing; closed ones are opened again."""
    _hold(attack, ready, begin=b"", drop=b"")


def half_headers(attack: Attack, ready: Callable[[], None]) -> None:
    """Holds connections that send a header per second, but never a whole request."""
    _hold(attack, ready, begin=b"GET /healthz HTTP/1.1\r\n", drop=b"a: b\r\n")


def slow_uploads(attack: Attack, ready: Callable[[], None]) -> None:
    """Sends bodies at a byte per second."""
    _hold(attack, ready, begin=attack.head(_MIB), drop=b" ")


def compressed(attack: Attack, ready: Callable[[], None]) -> None:
    """Sends bodies of 1 MB that inflate to 1 GiB, and of 8 MB that inflate to 8 MiB."""
    large = gzip.compress(b" " * (1 << 30), 9)
    random_bytes = random.Random(0).randbytes(6 * _MIB)
    text = b'{"inputs": "' + random_bytes.hex().encode()[: 8 * _MIB - 100] + b'"}'
    bodies = [large, gzip.compress(text, 1)]
    _ask(attack, ready, bodies, {"Content-Encoding": "gzip"})


def nested(attack: Attack, ready: Callable[[], None]) -> None:
    """Sends bodies of 8 MiB: nested lists, and as many values as fit."""
    most = 8 * _MIB - 100
    bodies = [
        b'{"inputs": ' + b"[" * most + b"}",
        b'{"inputs": [' + b"[]," * (most // 3) + b"[]]}",
        b'{"inputs": [' + b"1," * (most // 2) + b"1]}",
        b'{"instances": [' + b"[1,1]," * (most // 6) + b"[1,1]]}",
        b'{"signature_name": "words", "inputs": [' + b'"ab",' * (most // 5) + b'""]}',
        b'{"signature_name": "' + b"x" * most + b'", "inputs": 1}',
        b'{"inputs": {' + _many_names(most) + b'"x": 1}}',
    ]
    _ask(attack, ready, bodies, {})


def unread(attack: Attack, ready: Callable[[], None]) -> None:
    """Sends requests whose answers exceed 8 MiB, and never reads the answers."""
    body = b'{"instances": [' + b"[1,1]," * (5 * _MIB // 6) + b"[1,1]]}"
    begin = attack.head(len(body)) + body
    _hold(attack, ready, begin, drop=b"")


def _many_names(most: int) -> bytes:
    return b"".join(b'"%d":1,' % i for i in range(most // 12))


def _hold(attack: Attack, ready: Callable[[], None], begin: bytes, drop: bytes) -> None:
    """Holds connections; sends `begin` on each, and `drop` once per second."""
    poll = select.epoll()
    held: dict[int, socket.socket] = {}

    def add() -> None:
        try:
            connection = attack.connect()
            connection.sendall(begin)
        except OSError:
            attack.counts["refused"] += 1
            return
        connection.setblocking(False)
        held[connection.fileno()] = connection
        events = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
        poll.register(connection, events)

    def close_those_that_ended(seconds: float) -> None:
        for descriptor, _ in poll.poll(seconds):
            poll.unregister(descriptor)
            held.pop(descriptor).close()
            attack.counts["closed"] += 1

    began = time.monotonic()
    for _ in range(attack.count):
        add()
    attack.counts["seconds_to_connect"] = round(time.monotonic() - began, 1)
    ready()
    begun, added = time.monotonic(), 0
    next_drop = begun + 1
    while not attack.over.is_set():
        close_those_that_ended(0.02)
        while len(held) < attack.count and added < _AGAIN_PER_SECOND * (
            time.monotonic() - begun
        ):
            add()
            added += 1
        if drop and time.monotonic() >= next_drop:
            next_drop += 1
            for connection in held.values():
                try:
                    connection.send(drop)
                except OSError:
                    pass
    attack.counts["held"] = len(held)


def _ask(
    attack: Attack,
    ready: Callable[[], None],
    bodies: list[bytes],
    headers: dict[str, str],
) -> None:
    def ask(first: int) -> None:
        index = first
        while not attack.over.is_set():
            attack.post(bodies[index % len(bodies)], **headers)
            index += 1

    threads = [threading.Thread(target=ask, args=[i]) for i in range(attack.count)]
    for thread in threads:
        thread.start()
    ready()
    for thread in threads:
        thread.join()


ATTACKS = {
    each.__name__: each
    for each in (idle, half_headers, slow_uploads, compressed, nested, unread)
}


def main() -> None:
    name, address, model, count = sys.argv[1:]
    # An attacker would not use this machine's processor: leave it to the server.
    os.nice(19)
    attack = Attack(address, model, int(count))

    def wait_for_the_end() -> None:
        sys.stdin.read()
        attack.over.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    ATTACKS[name](attack, lambda: print("ready", flush=True))
    print(json.dumps(attack.counts), flush=True)


if __name__ == "__main__":
    main()
