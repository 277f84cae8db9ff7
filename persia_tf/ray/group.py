"""Which shards a cluster has while it is scaled, for processes that follow them."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from typing import Any

import ray

from persia_tf.ray.following import Follower

# How the name of a shard's second actor ends.
_STANDBY = "-standby"

_LOGGER = logging.getLogger("persia.ray")

# How often a process looks for shards that were added.
_LOOK_SECONDS = 2.0
# How long a shard may take to tell by which address it is known.
_ANSWER_SECONDS = 10.0


@dataclasses.dataclass(frozen=True)
class Group:
    """The shards of a cluster, by the names of their actors.

    Each shard has a number, which no later shard gets again.

    Attributes:
        prefix: What the names begin with; no other cluster's do.
        standbys: How many standbys each shard has.
    """

    prefix: str
    standbys: int = 0

    def names_of(self, number: int) -> list[str]:
        """Returns the names of the actors that know where a shard is."""
        first = f"{self._begin}{number}"
        return [first, f"{first}{_STANDBY}"][: 1 + self.standbys]

    def actors_of(self, number: int) -> list[Any]:
        """Returns the handles of those of these actors that there are.

        Raises:
            ValueError: If there are none: the shard was removed.
        """
        found = []
        for name in self.names_of(number):
            with contextlib.suppress(ValueError):
                found.append(ray.get_actor(name))
        if not found:
            raise ValueError(f"shard {number} was removed")
        return found

    @property
    def _begin(self) -> str:
        return f"{self.prefix}-ps-"

    def present(self) -> list[int]:
        """Returns the numbers of the shards that there are, in ascending order.

        Shards that Ray is restarting count; those that were removed do not.
        """
        begin = self._begin
        rests = (
            each.removeprefix(begin).removesuffix(_STANDBY)
            for each in ray.util.list_named_actors()
            if each.startswith(begin)
        )
        return sorted({int(rest) for rest in rests})

    def added(self, known: Iterable[int]) -> dict[int, tuple[list[Any], str]]:
        """Returns the shards that were added to those in `known`.

        Returns:
            By number, the handles of the actors, and the address by which the cluster
            knows the shard. Shards that have not joined the cluster yet are left out.
        """
        found = {}
        for number in set(self.present()) - set(known):
            try:
                actors = self.actors_of(number)
            except ValueError:
                continue  # It has left again.
            known_as = _known_as(actors)
            if known_as is not None:
                found[number] = actors, known_as
        return found


def _known_as(actors: Iterable[Any]) -> str | None:
    """Returns what the first actor says that answers; None if it is not known yet."""
    for actor in actors:
        try:
            return actor.known_as.remote().future().result(_ANSWER_SECONDS)
        except (futures.TimeoutError, ray.exceptions.RayError):
            continue  # It is being restarted.
    return None


class ScaleFollower:
    """A thread that follows shards which are added, and forgets those that have left.

    Args:
        group: The shards.
        followed: The numbers of the shards that the process follows already.
        forget: Called with the number of such a shard once it has left, on the thread.
        on_move: Called with the address by which the cluster knows an added shard, and
            its new address, on another thread.
    """

    def __init__(
        self,
        group: Group,
        followed: Iterable[int],
        forget: Callable[[int], None],
        on_move: Callable[[str, str], None],
    ) -> None:
        self._group = group
        self._followed = set(followed)
        self._forget = forget
        self._on_move = on_move
        self._followers: dict[int, Follower] = {}
        self._stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name="persia-ray-scale-follower", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; `on_move` is not called afterwards."""
        self._stopping.set()
        self._thread.join()
        for follower in self._followers.values():
            follower.stop()

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self._look()
            except Exception:  # Ray's head node may be away for some time.
                _LOGGER.debug("shards that were added are not known yet", exc_info=True)

    def _look(self) -> None:
        present = self._group.present()
        if not present:
            return  # The cluster is being stopped.
        for number in self._followed.difference(present):
            self._followed.remove(number)
            self._forget(number)
        for number in set(self._followers).difference(present):
            self._followers.pop(number).stop()
        known = self._followed.union(self._followers)
        for number, (actors, known_as) in self._group.added(known).items():
            self._followers[number] = self._follower_of(actors, known_as)

    def _follower_of(self, actors: Sequence[Any], known_as: str) -> Follower:
        return Follower(
            [actors], [known_as], lambda _, now_at: self._on_move(known_as, now_at)
        )
