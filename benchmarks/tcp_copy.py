"""Copies bytes from one process to another over TCP on loopback, and times it.

    python benchmarks/tcp_copy.py BYTES

That process sends; it starts another one, which receives into memory of its own. The
last line is the number of seconds from the first byte until the receiver had the last.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time

_HOST = "127.0.0.1"
_AT_ONCE = 1 << 20
_DONE = b"d"


def copy_seconds(size: int) -> float:
    """Copies `size` bytes between two new processes; returns how long it took."""
    ended = subprocess.run(
        [sys.executable, __file__, str(size)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return float(ended.stdout.splitlines()[-1])


def _receive(size: int) -> None:
    """Tells its port on stdout, receives the bytes, and answers that it has them."""
    with socket.create_server((_HOST, 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
    with connection:
        # Pages that nothing has touched yet, as those for rows that arrive.
        copied = memoryview(bytearray(size))
        received = 0
        while received < size:
            count = connection.recv_into(copied[received : received + _AT_ONCE])
            if count == 0:
                raise EOFError(f"the sender ended after {received} of {size} bytes")
            received += count
        connection.sendall(_DONE)


def _send(size: int) -> float:
    receiver = subprocess.Popen(
        [sys.executable, __file__, "--receive", str(size)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        data = memoryview(b"\1" * size)
        port = int(receiver.stdout.readline())
        with socket.create_connection((_HOST, port)) as connection:
            begin = time.perf_counter()
            for sent in range(0, size, _AT_ONCE):
                connection.sendall(data[sent : sent + _AT_ONCE])
            if connection.recv(1) != _DONE:
                raise EOFError("the receiver ended before it had all bytes")
            return time.perf_counter() - begin
    finally:
        receiver.kill()
        receiver.wait()


def main() -> None:
    if sys.argv[1] == "--receive":
        _receive(int(sys.argv[2]))
    else:
        print(_send(int(sys.argv[1])))


if __name__ == "__main__":
    main()
