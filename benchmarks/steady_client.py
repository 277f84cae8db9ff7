"""A client that sends requests at a fixed rate, whether or not they succeed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np


class Wrong(Exception):
    """Raised for an answer that is not the expected one."""


class SteadyClient:
    """Sends requests at a fixed rate, from a thread of its own, until `end`.

    A latency counts from when the request was scheduled, so a slow answer also adds to
    the latency of requests that were scheduled meanwhile.

    Args:
        ask: Sends a request and waits; raises if the answer is missing or wrong.
        rate: Requests per second.
        failures: The exceptions of `ask` that count as failures.
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
        """Stops the client and returns its figures."""
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
