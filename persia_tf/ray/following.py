"""Follows servers that Ray restarts elsewhere: learns their new addresses."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import ray

_LOGGER = logging.getLogger("persia.ray")

# How long a server may hold back the answer that its address is still the same.
_HOLD_SECONDS = 60.0
# A server that holds its answer for so much longer is asked again.
_LATE_SECONDS = 15.0
# How often the thread looks whether it should end.
_LOOK_SECONDS = 0.5
# How long one of several actors may take to tell a server's address.
_TURN_SECONDS = 2.0
# How long to wait before a server is asked again that could not be asked.
_RETRY_SECONDS = 0.2
# How long `stop` waits for the thread, which never waits so long itself.
_STOP_SECONDS = 10.0


def addresses_of(servers: Sequence[Sequence[Any]], seconds: float) -> list[str]:
    """Returns the address of each server, once all of them serve.

    Args:
        servers: For each server, the handles of the actors that know its address.
        seconds: How long to wait at most.

    Raises:
        ray.exceptions.GetTimeoutError: If a server does not answer in time.
        ray.exceptions.RayActorError: If a server did not start.
    """
    deadline = time.monotonic() + seconds
    return [_address_of(server, deadline) for server in servers]


def _address_of(actors: Sequence[Any], deadline: float) -> str:
    """Asks the actors in turn, since one of them may wait for a node to run on."""
    for actor in itertools.cycle(actors):
        left = max(0.0, deadline - time.monotonic())
        most = left if len(actors) == 1 else min(left, _TURN_SECONDS)
        reference = actor.address.remote()
        try:
            return ray.get(reference, timeout=most)
        except ray.exceptions.GetTimeoutError:
            cancel(reference)
            if most == left:
                raise
        except ray.exceptions.RayActorError as error:
            is_restarting = isinstance(error, ray.exceptions.ActorUnavailableError)
            if left == 0.0 or not (is_restarting or len(actors) > 1):
                raise
            time.sleep(_RETRY_SECONDS)
    raise AssertionError("a server has an actor")


class Follower:
    """A thread that learns each new address of each server.

    It asks each server for its address and lets the answer wait. When the server's
    process or node dies, Ray fails the request; then the thread asks again until the
    restarted server answers.

    Args:
        servers: For each server, the handles of the actors that know its address, in
            the order in which they are asked.
        addresses: The servers' known addresses.
        on_move: Called with a server's index and its new address, on the thread. If it
            raises, the error is logged, and it is called again.
    """

    def __init__(
        self,
        servers: Sequence[Sequence[Any]],
        addresses: Sequence[str],
        on_move: Callable[[int, str], None],
    ) -> None:
        self._addresses = list(addresses)
        self._on_move = on_move
        self._stopping = threading.Event()
        # For each answer that is awaited, the server's index, the time at which the
        # answer is late, and Ray's reference to it. Answers are futures, since
        # `ray.get` warns if it is called in an actor with coroutines, from any thread.
        self._asked: dict[futures.Future[str], tuple[int, float, Any]] = {}
        # For each server that must be asked again, the time of that.
        self._due: dict[int, float] = dict.fromkeys(range(len(servers)), 0.0)
        self._turns = [itertools.cycle(actors) for actors in servers]
        self._asks = [next(turns) for turns in self._turns]  # Who is asked now.
        self._forgotten: set[int] = set()
        self._thread = threading.Thread(
            target=self._run, name="persia-ray-follower", daemon=True
        )
        self._thread.start()

    def forget(self, index: int) -> None:
        """Does not follow a server any more that has ended for good."""
        self._forgotten.add(index)

    def stop(self) -> None:
        """Ends the thread; `on_move` is not called afterwards."""
        self._stopping.set()
        self._thread.join(_STOP_SECONDS)
        if self._thread.is_alive():
            _LOGGER.error(
                "the thread that follows servers did not end within %g s", _STOP_SECONDS
            )

    def _run(self) -> None:
        while not self._stopping.is_set():
            now = time.monotonic()
            for index in [index for index, at in self._due.items() if at <= now]:
                del self._due[index]
                self._ask(index)
            self._give_up_late_answers(now)
            pause = _RETRY_SECONDS if self._due else _LOOK_SECONDS
            if not self._asked:
                self._stopping.wait(pause)
                continue
            answered, _ = futures.wait(
                self._asked, timeout=pause, return_when=futures.FIRST_COMPLETED
            )
            for answer in answered:
                index, _, _ = self._asked.pop(answer)
                self._take(index, answer)
        for _, _, reference in self._asked.values():
            cancel(reference)

    def _ask(self, index: int) -> None:
        if index in self._forgotten:
            return
        known = self._addresses[index]
        reference = self._asks[index].address.remote(known, _HOLD_SECONDS)
        late = time.monotonic() + _HOLD_SECONDS + _LATE_SECONDS
        self._asked[reference.future()] = index, late, reference

    def _ask_another(self, index: int) -> None:
        """Asks the next actor that knows a server, or the same one after a pause."""
        self._asks[index] = next(self._turns[index])
        self._ask_again(index)

    def _ask_again(self, index: int) -> None:
        self._due[index] = time.monotonic() + _RETRY_SECONDS

    def _give_up_late_answers(self, now: float) -> None:
        late = [answer for answer, (_, at, _) in self._asked.items() if at <= now]
        for answer in late:
            index, _, reference = self._asked.pop(answer)
            cancel(reference)
            self._ask_another(index)

    def _take(self, index: int, answer: futures.Future[str]) -> None:
        try:
            address = answer.result()
        except ray.exceptions.RayError:  # The server is being restarted.
            return self._ask_another(index)
        if address == self._addresses[index]:
            return self._ask(index)
        try:
            self._on_move(index, address)
        except Exception:
            _LOGGER.exception("server %d is not followed to %s yet", index, address)
            return self._ask_again(index)
        _LOGGER.info(
            "server %d has moved from %s to %s",
            *(index, self._addresses[index], address),
        )
        self._addresses[index] = address
        self._ask(index)


def cancel(reference: Any) -> None:
    """Ends a request that a server holds, so that it does not pile up there."""
    with contextlib.suppress(ray.exceptions.RayError, ValueError):
        ray.cancel(reference)
