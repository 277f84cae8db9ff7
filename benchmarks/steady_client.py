"""A client that asks at a rate, whatever becomes of its requests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np


class Wrong(Exception):
    """An answer that is none."""


class SteadyClient:
    """Asks at a rate, from a thread of its own, until `end`.

    A time begins when a request was due: one that is late makes the next one late.

    Args:
        ask: Asks; raises if there is no answer, or if it is not what it should be.
        rate: Times in a second.
        failures: What it may raise.
    """

    def __init__(
        self, ask: Callable[[], None], rate: float, failures: tuple[type, ...]
    ) -> None:
        self._ask = ask
        self._rate = rate
        self._may_raise = failures
        self._over = threading.Event()
        self._taken: list[float] = []
        self._failures: list[str] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> dict[str, Any]:
        """Asks no more; returns its figures."""
        self._over.set()
        self._thread.join()
        p50, p99 = np.percentile(self._taken, [50, 99])
        return {
            "asked": len(self._taken),
            "failed": len(self._failures),
            "failures": sorted(set(self._failures))[:5],
            "p50_ms": 1e3 * float(p50),
            "p99_ms": 1e3 * float(p99),
            "most_ms": 1e3 * max(self._taken),
        }

    def _run(self) -> None:
        due = time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            try:
                self._ask()
            except self._may_raise as error:
                self._failures.append(repr(error)[:200])
            self._taken.append(time.monotonic() - due)
            due += 1 / self._rate
