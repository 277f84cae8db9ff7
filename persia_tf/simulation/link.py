"""A direction of a network interface."""

from __future__ import annotations

from persia_tf.simulation.clock import Action, Clock


class Link:
    """Carries messages one after the other, each for its bytes over the rate."""

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        self._clock = clock
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0
        self._taken_seconds = 0.0

    @property
    def busy_seconds(self) -> float:
        """How long it has carried messages, without those that wait."""
        return self._taken_seconds - max(self._free_at - self._clock.now, 0.0)

    def carry(self, size: float, then: Action) -> None:
        """Carries a message of `size` bytes after those before it, and `then` acts."""
        takes = size / self._bytes_per_second
        self._taken_seconds += takes
        self._free_at = max(self._free_at, self._clock.now) + takes
        self._clock.after(self._free_at - self._clock.now, then)
