"""Follows servers that Ray restarts elsewhere: learns their new addresses."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import ray

_LOGGER = logging.getLogger("persia.ray")

# How long a server may hold back the answer that its address is still the same.
_HOLD_SECONDS = 60.0
# How often the thread looks whether it should end.
_LOOK_SECONDS = 0.5
# How long to wait before a server is asked again that could not be asked.
_RETRY_SECONDS = 0.2


def addresses_of(servers: Sequence[Any], seconds: float | None = None) -> list[str]:
    """Returns the address of each server, once all of them serve.

    Args:
        servers: Handles of the actors.
        seconds: How long to wait at most; None for no limit.

    Raises:
        ray.exceptions.GetTimeoutError: If a server does not answer in time.
        ray.exceptions.RayActorError: If a server did not start.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    return [_address_of(server, deadline) for server in servers]


def _address_of(server: Any, deadline: float | None) -> str:
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            return ray.get(server.address.remote(), timeout=left)
        except ray.exceptions.ActorUnavailableError:  # It is being restarted.
            if left == 0.0:
                raise
            time.sleep(_RETRY_SECONDS)


class Follower:
    """A thread that learns each new address of each server.

    It asks each server for its address and lets the answer wait. When the server's
    process or node dies, Ray fails the request; then the thread asks again until the
    restarted server answers.

    Args:
        servers: Handles of the actors.
        addresses: The servers' known addresses.
        on_move: Called with a server's index and its new address, on the thread.
    """

    def __init__(
        self,
        servers: Sequence[Any],
        addresses: Sequence[str],
        on_move: Callable[[int, str], None],
    ) -> None:
        self._servers = servers
        self._addresses = list(addresses)
        self._on_move = on_move
        self._stopping = threading.Event()
        self._asked: dict[Any, int] = {}
        self._thread = threading.Thread(
            target=self._run, name="persia-ray-follower", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; `on_move` is not called afterwards."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        for index in range(len(self._servers)):
            self._ask(index)
        while not self._stopping.is_set():
            answered, _ = ray.wait(list(self._asked), timeout=_LOOK_SECONDS)
            for answer in answered:
                self._take(self._asked.pop(answer), answer)

    def _ask(self, index: int) -> None:
        known = self._addresses[index]
        answer = self._servers[index].address.remote(known, _HOLD_SECONDS)
        self._asked[answer] = index

    def _take(self, index: int, answer: Any) -> None:
        try:
            address = ray.get(answer)
        except ray.exceptions.RayError:
            # The server is being restarted, or has ended for good: then there is
            # nothing else to follow either, until the program ends.
            self._stopping.wait(_RETRY_SECONDS)
        else:
            if address != self._addresses[index]:
                _LOGGER.info(
                    "server %d has moved from %s to %s",
                    *(index, self._addresses[index], address),
                )
                self._addresses[index] = address
                self._on_move(index, address)
        self._ask(index)
