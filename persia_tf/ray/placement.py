"""Reserves room on the nodes of a Ray cluster for servers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from persia_tf import errors

_LOGGER = logging.getLogger("persia.ray")

STRATEGIES = ("SPREAD", "STRICT_SPREAD", "PACK", "STRICT_PACK")

# The resources that the message about missing room shows.
_SHOWN = ("CPU", "memory")


class Placement:
    """A placement group with room for each server; the constructor waits for it.

    When a node dies, Ray moves its part of the group to other nodes that have room.

    Args:
        bundles: The resources of each server.
        strategy: How Ray spreads the servers over the nodes.
        seconds: How long to wait for room.

    Raises:
        UnavailableError: If there is no room in time.
    """

    def __init__(
        self, bundles: list[dict[str, float]], strategy: str, seconds: float
    ) -> None:
        self._group = placement_group(bundles, strategy=strategy)
        if self._group.wait(seconds):
            return
        self.remove()
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        raise errors.UnavailableError(
            f"Ray found no room for {len(bundles)} servers within {seconds:g} s, with "
            f"the strategy {strategy} and these resources for each server: "
            f"{_shown(bundles[0])}. Ray has {len(nodes)} nodes, with "
            f"{_shown(ray.available_resources())} free. Add nodes, use fewer `shards`, "
            "give less `cpus` or `memory_limit`, use another `strategy` (a shard "
            "and its standby need two nodes with any), or let Ray's autoscaler have "
            "more time with `start_timeout`"
        )

    def options_of(self, index: int) -> dict[str, Any]:
        """Returns the option of an actor that puts it into the group's room `index`."""
        return {
            "scheduling_strategy": PlacementGroupSchedulingStrategy(
                self._group, placement_group_bundle_index=index
            )
        }

    def remove(self) -> None:
        """Gives the room back; Ray ends actors that are still in it."""
        remove_placement_group(self._group)


def warn_if_full(reserved: float) -> None:
    """Logs a warning if Ray has no CPU left for a program.

    Args:
        reserved: How many CPUs the servers of this cluster reserve.
    """
    free = ray.available_resources().get("CPU", 0)
    if free >= 1:
        return
    _LOGGER.warning(
        "of Ray's %g CPUs, these servers reserve %g, and %g are free. A training "
        "worker reserves one by default, and waits until there is one, perhaps for "
        "ever: add nodes, use fewer servers, or give them less `cpus`, such as 0.5",
        *(ray.cluster_resources().get("CPU", 0), reserved, free),
    )


class Rooms:
    """The rooms of shards: those of the start, and those that were added.

    Args:
        first: The `Placement` of the start, whose rooms with the lowest indices are
            those of the shards.
        count: How many shards there are at the start, with numbers from 0.
        place: Returns a `Placement` with a number of further rooms.
    """

    def __init__(
        self, first: Placement, count: int, place: Callable[[int], Placement]
    ) -> None:
        self._place = place
        self._first = first
        self._of = {number: (first, number) for number in range(count)}
        self._free: list[tuple[Placement, int]] = []

    def of(self, number: int) -> list[tuple[Placement, int]]:
        """Returns the room of a shard's actor: a placement, and the index there."""
        return [self._of[number]]

    def reserve(self, numbers: Sequence[int]) -> None:
        """Reserves a room for each shard, of those that are free first.

        Raises:
            UnavailableError: If there is no room in time.
        """
        missing = len(numbers) - len(self._free)
        if missing > 0:
            more = self._place(missing)
            self._free += [(more, index) for index in range(missing)]
        self._of.update((number, self._free.pop(0)) for number in numbers)

    def give_back(self, numbers: Sequence[int]) -> None:
        """Frees the rooms of shards that have ended.

        Ray gets a placement back once all its rooms are free, except the first one,
        which other servers use.
        """
        self._free += [self._of.pop(number) for number in numbers]
        used = {id(placement) for placement, _ in self._of.values()}
        for placement in {id(each): each for each, _ in self._free}.values():
            if placement is not self._first and id(placement) not in used:
                self._free = [each for each in self._free if each[0] is not placement]
                placement.remove()

    def remove(self) -> None:
        """Gives all placements back, except the first one."""
        rooms = (*self._of.values(), *self._free)
        for placement in {id(each): each for each, _ in rooms}.values():
            if placement is not self._first:
                placement.remove()


class PairRooms:
    """The rooms of shards with standbys: two for each shard, on two nodes.

    Args:
        place: Returns a `Placement` of two rooms on different nodes, for which it waits
            so many seconds at most.
        seconds: How long to wait for the rooms that are reserved together.
    """

    def __init__(self, place: Callable[[float], Placement], seconds: float) -> None:
        self._place = place
        self._seconds = seconds
        self._of: dict[int, Placement] = {}

    def of(self, number: int) -> list[tuple[Placement, int]]:
        """Returns the rooms of a shard's two actors, as `Rooms.of` does."""
        return [(self._of[number], side) for side in range(2)]

    def reserve(self, numbers: Sequence[int]) -> None:
        """Reserves the rooms of each shard.

        Raises:
            UnavailableError: If there is no room in time. Then none is reserved.
        """
        reserved: list[int] = []
        until = time.monotonic() + self._seconds
        try:
            for number in numbers:
                left = max(0.0, until - time.monotonic())
                self._of[number] = self._place(left)
                reserved.append(number)
        except BaseException:
            self.give_back(reserved)
            raise

    def give_back(self, numbers: Sequence[int]) -> None:
        """Gives the rooms of shards that have ended back to Ray."""
        for number in numbers:
            self._of.pop(number).remove()

    def remove(self) -> None:
        """Gives all rooms back."""
        self.give_back(list(self._of))


def _shown(resources: Mapping[str, float]) -> str:
    shown = [f"{name}: {resources.get(name, 0):g}" for name in _SHOWN]
    return "{" + ", ".join(shown) + "}"
