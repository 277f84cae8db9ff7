"""A buffer that passes bytes on after a delay."""

from __future__ import annotations

import collections
import socket

from stream_faults import FaultyStream

_PIECE_BYTES = 1 << 16  # The maximum number of bytes that one system call moves.
# Bytes that arrive within this time leave together, so that the proxy does not wake up
# for each of many small reads. This time is negligible compared with a millisecond.
_SAME_SECONDS = 100e-6


class DelayLine:
    """One direction of a connection. Not thread-safe.

    A full line reads no more bytes, like a full socket buffer.

    Args:
        delay: The minimum time that each byte stays in the line, in seconds.
        capacity: The maximum number of bytes that the line can hold.
        faulty: Applies faults to the bytes before the delay, or None.

    Attributes:
        passed: The number of bytes that have left.
    """

    def __init__(
        self, delay: float, capacity: int, faulty: FaultyStream | None = None
    ) -> None:
        self.passed = 0
        self._delay = delay
        self._faulty = faulty
        self._capacity = capacity
        self._held = bytearray()
        self._due = 0  # How many of the held bytes may leave now.
        # (due time, number of bytes) for the other held bytes; (due time, 0) stands for
        # the end of the stream.
        self._waiting: collections.deque[tuple[float, int]] = collections.deque()
        self._ended = False

    @property
    def wants_bytes(self) -> bool:
        """Whether `fill` may be called."""
        added = self._faulty.most_added if self._faulty else 0
        return not self._ended and len(self._held) + added < self._capacity

    @property
    def has_due_bytes(self) -> bool:
        """Whether the last `drain` left due bytes, such as when the sink was full."""
        return self._due > 0

    @property
    def next_due(self) -> float | None:
        """When more bytes, or the stream's end, become due; None if none is waiting."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended and all of its bytes have left."""
        return self._ended and not self._held and not self._waiting

    def fill(self, source: socket.socket, now: float) -> None:
        """Reads bytes, or the end of the stream, from `source`, which must be readable.

        Raises:
            OSError: if `recv` does.
        """
        added = self._faulty.most_added if self._faulty else 0
        room = self._capacity - len(self._held) - added
        data = source.recv(min(room, _PIECE_BYTES))
        self._ended = not data
        if self._faulty:
            data = self._faulty.pass_on(data)
        self._held += data
        count = len(data)
        if not count and not self._ended:
            return  # A fault dropped all bytes.
        due = now + self._delay
        if count and self._waiting and due - self._waiting[-1][0] < _SAME_SECONDS:
            due, before = self._waiting.pop()
            count += before
        self._waiting.append((due, count))

    def drain(self, sink: socket.socket, now: float, limit: int | None) -> None:
        """Sends due bytes to `sink`, as many as it accepts.

        Args:
            sink: A non-blocking socket.
            now: The current time.
            limit: The largest value that `passed` may reach; None: no limit.

        Raises:
            OSError: if `send` does.
        """
        while self._waiting and self._waiting[0][0] <= now:
            count = self._waiting.popleft()[1]
            self._due += count
        while self._due and (limit is None or self.passed < limit):
            count = min(self._due, _PIECE_BYTES)
            if limit is not None:
                count = min(count, limit - self.passed)
            try:
                sent = sink.send(self._held[:count])
            except BlockingIOError:
                return
            del self._held[:sent]
            self._due -= sent
            self.passed += sent
