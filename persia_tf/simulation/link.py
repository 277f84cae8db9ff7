"""A direction of a network interface."""

from __future__ import annotations

from persia_tf.simulation.clock import Action, Clock


class Link:
    """Carries messages one after the other, each for its bytes over the rate.

    Attributes:
        busy_seconds: How long it has carried messages.
    """

    def __init__(self, clock: Clock, bytes_per_second: float) -> None:
        self._clock = clock
        self._bytes_per_second = bytes_per_second
        self._free_at = 0.0
        self.busy_seconds = 0.0

    def carry(self, size: float, then: Action) -> None:
        """Carries a message of `size` bytes after those before it, and `then` acts."""
        takes = size / self._bytes_per_second
        self.busy_seconds += takes
        self._free_at = max(self._free_at, self._clock.now) + takes
        self._clock.after(self._free_at - self._clock.now, then)
