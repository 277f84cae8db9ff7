"""Frames as bytes: recorded from a client, mutated, and sent to a server.

Only the header is known here, as cc/wire/frame.h describes it. Bodies are recorded from
a client, so their format need not be known.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness import is_used

HEADER = struct.Struct("<4sHHQQII")
HEADER_BYTES = HEADER.size
_CRC_AT = HEADER_BYTES - 4
_DEADLINE_SECONDS = 60
# Numbers that mutations write in place of lengths, counts and other numbers.
_INTERESTING = (0, 1, 0x7F, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, 2**64 - 1)


def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """The CRC-32C checksum that frames use."""
    crc, table = 0xFFFFFFFF, _CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


class Frame(NamedTuple):
    """A frame of this protocol version."""

    version: int
    type: int
    body: bytes

    def sealed(self, request_id: int = 1) -> bytes:
        """All bytes of the frame, with the right length and checksums."""
        head = struct.pack(
            "<4sHHQQI",
            *(b"PRS1", self.version, self.type, request_id),
            *(len(self.body), crc32c(self.body)),
        )
        return head + struct.pack("<I", crc32c(head)) + self.body


def receive_frame(
    sock: socket.socket, pass_on: Callable[[bytes], object] | None = None
) -> Frame | None:
    """The next whole frame; None at the connection's end.

    Args:
        sock: Where it comes.
        pass_on: Given the frame's bytes, as they came.
    """
    head = _receive(sock, HEADER_BYTES)
    if head is None:
        return None
    magic, version, kind, _, size, _, _ = HEADER.unpack(head)
    assert magic == b"PRS1", f"no frame: {head!r}"
    body = _receive(sock, size)
    if body is None:
        return None
    if pass_on:
        pass_on(head + body)
    return Frame(version, kind, body)


def _receive(sock: socket.socket, count: int) -> bytes | None:
    got = bytearray()
    while len(got) < count:
        part = sock.recv(min(count - len(got), 1 << 20))
        if not part:
            return None
        got += part
    return bytes(got)


def connect(address: str) -> socket.socket:
    """Connects to a server. Any later hang of the socket is an error."""
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host, int(port)), _DEADLINE_SECONDS)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _listener() -> socket.socket:
    """Listens at an address for which this process has no session."""
    while True:
        listener = socket.create_server(("127.0.0.1", 0))
        if not is_used(listener.getsockname()[1]):
            return listener
        listener.close()


class Recorder:
    """Forwards frames to a server, and keeps every frame that clients send it.

    Attributes:
        address: Where clients connect to.
        frames: The frames that they sent, without repeats.
    """

    def __init__(self, to: str) -> None:
        self.frames: set[Frame] = set()
        self._to = to
        self._listener = _listener()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Recorder:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # If the socket were only closed, the thread would go on accepting.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = connect(self._to)
            client.settimeout(None)
            server.settimeout(None)
            for pass_on, ends in (
                (self._record, (client, server)),
                (self._return, (server, client)),
            ):
                threading.Thread(target=pass_on, args=ends, daemon=True).start()

    def _record(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError), server:
            while frame := receive_frame(client, server.sendall):
                self.frames.add(frame)

    def _return(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            while data := server.recv(1 << 16):
                client.sendall(data)


class Mutated(NamedTuple):
    """Bytes to send.

    Attributes:
        data: The bytes.
        is_whole: Whether they are a request's whole frame, with the right checksums:
            a server must answer it, and keep the connection.
        is_broken: Whether they are none for sure: a server must count that, and end
            the connection.
    """

    data: bytes
    is_whole: bool = False
    is_broken: bool = False


class Mutator:
    """Draws mutations of frames, which equal seeds repeat. Not thread-safe."""

    def __init__(self, frames: Sequence[Frame], seed: object) -> None:
        self._frames = [(frame, frame.sealed()) for frame in frames]
        self._random = random.Random(f"mutations/{seed}")

    def draw(self) -> Mutated:
        """Returns a frame with its body, its length or its header changed."""
        frame, sealed = self._random.choice(self._frames)
        if self._random.random() < 0.3:
            return self._with_header(sealed)
        body = self._changed(frame.body)
        if self._random.random() < 0.5 or body == frame.body:
            whole = Frame(frame.version, frame.type, body).sealed()
            return Mutated(whole, is_whole=True)
        # With the header of the original, either the length or the checksum is wrong.
        return Mutated(sealed[:HEADER_BYTES] + body, is_broken=True)

    def _with_header(self, sealed: bytes) -> Mutated:
        data = bytearray(sealed)
        at = self._random.randrange(_CRC_AT)
        data[at] ^= self._random.randint(1, 255)
        if self._random.random() < 0.5:
            return Mutated(bytes(data), is_broken=True)
        struct.pack_into("<I", data, _CRC_AT, crc32c(data[:_CRC_AT]))
        return Mutated(bytes(data))

    def _changed(self, body: bytes) -> bytes:
        data = bytearray(body)
        for _ in range(self._random.randint(1, 4)):
            self._random.choice((self._flip, self._overwrite, self._resize))(data)
        return bytes(data)

    def _flip(self, data: bytearray) -> None:
        if data:
            data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)

    def _overwrite(self, data: bytearray) -> None:
        size = self._random.choice((2, 4, 8))
        if len(data) < size:
            return
        at = self._random.randrange(len(data) - size + 1) // size * size
        number = self._random.choice(_INTERESTING) & (1 << 8 * size) - 1
        data[at : at + size] = number.to_bytes(size, "little")

    def _resize(self, data: bytearray) -> None:
        if self._random.random() < 0.5:
            del data[self._random.randrange(len(data) + 1) :]
        else:
            data += self._random.randbytes(self._random.randint(1, 64))
