"""Signals that the main thread receives one by one, without handlers.

A signal handler could interrupt the program at any point. A blocked signal instead
stays pending until the program waits for signals, so the program need not be safe
against interruptions.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable

# How many seconds a server that is being stopped waits for its requests in flight.
DRAIN_SECONDS = 20.0


class BlockedSignals:
    """Blocks signals in this thread and in every thread that it starts later.

    Example:

    >>> blocked = BlockedSignals([signal.SIGTERM])  # Do this before threads start.
    >>> received = blocked.take()

    Args:
        signals: The signals to block. Signals that the process ignores, such as SIGHUP
            under nohup, remain ignored.
    """

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        self.signals = {
            each for each in signals if signal.getsignal(each) != signal.SIG_IGN
        }
        self.previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.signals)

    def take(self) -> signal.struct_siginfo:
        """Waits for the next signal and returns it."""
        return signal.sigwaitinfo(self.signals)

    def take_within(self, seconds: float) -> signal.struct_siginfo | None:
        """Returns the next signal, or None if no signal arrives within `seconds`."""
        return signal.sigtimedwait(self.signals, max(0.0, seconds))

    def restore_default(self) -> None:
        """Unblocks the signals and restores their default actions."""
        for each in self.signals:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self.signals)
