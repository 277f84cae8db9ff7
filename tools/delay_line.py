"""Bytes on their way through a delay: a ring that every byte leaves in turn."""

from __future__ import annotations

import collections
import socket

from stream_faults import FaultyStream

# A faulty stream is copied on its way: more at once would gain nothing.
_FAULTY_READ_BYTES = 1 << 16
# What arrives within it leaves together, so that a stream of small reads does not
# wake the proxy for each of them. Too small to matter to a delay of a millisecond.
_SAME_SECONDS = 100e-6


class DelayLine:
    """One direction of a connection. Not thread-safe.

    A ring, and not a list of buffers: fresh memory costs more than the copy into
    it. It is not a limit of throughput as long as it holds what arrives within the
    delay; a full one stops reading, as a full socket does.

    Args:
        delay: Seconds that each byte stays at least.
        capacity: Bytes on their way at once.
        faulty: What becomes of the bytes before their delay, or None.

    Attributes:
        passed: Bytes that have left.
    """

    def __init__(
        self, delay: float, capacity: int, faulty: FaultyStream | None = None
    ) -> None:
        self.passed = 0
        self._delay = delay
        self._faulty = faulty
        self._memory = memoryview(bytearray(capacity))
        self._begin = 0  # Of what is held, which goes round at the memory's end.
        self._held = 0
        self._due = 0  # Of what is held, the part that may leave.
        # (when it is due, bytes) of the rest; at last maybe (when, 0): the end.
        self._waiting: collections.deque[tuple[float, int]] = collections.deque()
        self._ended = False

    @property
    def wants_bytes(self) -> bool:
        """Whether `fill` may be called."""
        added = self._faulty.most_added if self._faulty else 0
        return not self._ended and self._held + added < len(self._memory)

    @property
    def has_due_bytes(self) -> bool:
        """Whether `drain` found its socket full."""
        return self._due > 0

    @property
    def next_due(self) -> float | None:
        """When `drain` can next do more than now; None: not by time alone."""
        return self._waiting[0][0] if self._waiting else None

    @property
    def is_done(self) -> bool:
        """Whether the end came, and everything before it left."""
        return self._ended and not self._held and not self._waiting

    def fill(self, source: socket.socket, now: float) -> None:
        """Takes what `source`, which must be readable, has: bytes, or its end.

        Raises:
            OSError: as `recv_into` does.
        """
        if not self._held:
            self._begin = 0  # What the processor's cache holds is used again.
        if self._faulty:
            count = self._fill_by(self._faulty, source)
        else:
            count = source.recv_into(self._free_piece())
            self._ended = count == 0
        self._held += count
        if not count and not self._ended:
            return  # All of it was lost.
        due = now + self._delay
        if count and self._waiting and due - self._waiting[-1][0] < _SAME_SECONDS:
            due, before = self._waiting.pop()
            count += before
        self._waiting.append((due, count))

    def _free_piece(self) -> memoryview:
        """Where the next bytes go, as far as that is in one piece."""
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
        """Passes to `sink` what is due, as much as it takes.

        Args:
            sink: A socket that does not block.
            now: The time.
            limit: What `passed` may rise to; None: no limit.

        Raises:
            OSError: as `send` does.
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
