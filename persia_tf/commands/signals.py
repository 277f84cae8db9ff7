"""Signals taken one by one by the main thread, without handlers.

A handler may run between any two steps of the program; a blocked signal waits
until it is asked for, so no moment is the wrong one for it to arrive.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable


class BlockedSignals:
    """Blocks signals in this thread and in every thread that it starts later.

    Example:

    >>> blocked = BlockedSignals([signal.SIGTERM])  # Before any thread starts.
    >>> received = blocked.take()

    Args:
        signals: What to block. A signal that is ignored (as SIGHUP is under
            nohup) is left so.
    """

    def __init__(self, signals: Iterable[signal.Signals]) -> None:
        self.signals = {
            each for each in signals if signal.getsignal(each) != signal.SIG_IGN
        }
        self.previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, self.signals)

    def take(self) -> signal.struct_siginfo:
        """Waits for the next signal and takes it."""
        return signal.sigwaitinfo(self.signals)

    def take_within(self, seconds: float) -> signal.struct_siginfo | None:
        """Takes the next signal, or gives None if none comes in time."""
        return signal.sigtimedwait(self.signals, max(0.0, seconds))

    def restore_default(self) -> None:
        """Lets the signals do from now on what they do to any process."""
        for each in self.signals:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self.signals)
