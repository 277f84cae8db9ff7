"""A ring buffer that passes bytes on after a delay."""

from __future__ import annotations

import collections
import socket

from stream_faults import FaultyStream

# The bytes of a faulty stream are copied anyway: larger reads would gain nothing.
_FAULTY_READ_BYTES = 1 << 16
# Bytes that arrive within this time leave together, so that the proxy does not wake up
# for each of many small reads. Negligible against a delay of a millisecond.
_SAME_SECONDS = 100e-6


class DelayLine:
    """One direction of a connection. Not thread-safe.

    It is a ring rather than a list of buffers, since allocating fresh memory costs more
    than the copy into it. The ring does not limit the throughput as long as it can hold
    all bytes that arrive within the delay; if it is full, it stops reading, as a full
    socket buffer would.

    Args:
        delay: The least time that each byte stays, in seconds.
        capacity: The most bytes that it can hold.
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
        self._memory = memoryview(bytearray(capacity))
        self._begin = 0  # Where the held bytes begin; they wrap around at the end.
        self._held = 0
        self._due = 0  # How many of the held bytes may leave now.
        # (when they are due, number) of the other bytes; (when, 0) stands for the end
        # of the stream.
        self._waiting: collections.deque[tuple[float, int]] = collections.deque()
        self._ended = False

    @property
    def wants_bytes(self) -> bool:
        """Whether `fill` may be called."""
        added = self._faulty.most_added if self._faulty else 0
        return not self._ended and self._held + added < len(self._memory)

    @property
    def has_due_bytes(self) -> bool:
        """Whether due bytes remain, since `drain` found its socket full."""
        return self._due > 0

    @property
    def next_due(self) -> float | None:
        """When more bytes become due for `drain`; None if not by time alone."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def is_done(self) -> bool:
        """Whether the stream has ended and all of its bytes have left."""
        return self._ended and not self._held and not self._waiting

    def fill(self, source: socket.socket, now: float) -> None:
        """Reads bytes, or the end of the stream, from `source`, which must be readable.

        Raises:
            OSError: if `recv_into` does.
        """
        if not self._held:
            self._begin = 0  # Reuse memory that is in the processor's cache.
        if self._faulty:
            count = self._fill_by(self._faulty, source)
        else:
            count = source.recv_into(self._free_piece())
            self._ended = count == 0
        self._held += count
        if not count and not self._ended:
            return  # A fault dropped all bytes.
        due = now + self._delay
        if count and self._waiting and due - self._waiting[-1][0] < _SAME_SECONDS:
            due, before = self._waiting.pop()
            count += before
        self._waiting.append((due, count))

    def _free_piece(self) -> memoryview:
        """Returns the contiguous free memory for the next bytes."""
        size = len(self._memory)
        free = (self._begin + self._held) % size
        return self._memory[free : free + min(size - free, size - self._held)]

    def _fill_by(self, faulty: FaultyStream, source: socket.socket) -> int:
        room = len(self._memory) - self._held - faulty.most_added
        data = source.recv(min(room, _FAULTY_READ_BYTES))
        self._ended = not data
        data = faulty.pass_on(data)
        first = self._free_piece()[: len(data)]
        first[:] = data[: len(first)]
        self._memory[: len(data) - len(first)] = data[len(first) :]
        return len(data)

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
            end = min(self._begin + self._due, len(self._memory))
            if limit is not None:
                end = min(end, self._begin + limit - self.passed)
            try:
                sent = sink.send(self._memory[self._begin : end])
            except BlockingIOError:
                return
            self._begin = (self._begin + sent) % len(self._memory)
            self._held -= sent
            self._due -= sent
            self.passed += sent
