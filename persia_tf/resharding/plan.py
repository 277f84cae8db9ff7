"""Plans which slots move so that some shards own all of them, evenly."""

from __future__ import annotations

import bisect
import dataclasses
import heapq
from collections.abc import Sequence

import numpy as np

# A shard's load may be so much above the mean: measurements are not more exact.
_TOLERANCE = 0.02


@dataclasses.dataclass(frozen=True)
class Move:
    """Slots that one shard takes over from another.

    Attributes:
        source: The id of the slots' owner.
        taker: The id of the shard that takes them over.
        slots: The numbers of the slots, in ascending order.
    """

    source: int
    taker: int
    slots: np.ndarray


def even_moves(owners: np.ndarray, shards: Sequence[int]) -> list[Move]:
    """Returns the fewest moves after which the shards own all slots evenly.

    A shard that owns too many slots gives its highest ones away. When a shard is added
    to `n` others, one slot of `n + 1` moves, each from a shard that had it to the new
    one.

    Example:

    >>> [move.slots.size for move in even_moves(np.repeat([7, 8], 8192), [7, 8, 9])]
    [2730, 2731]

    Args:
        owners: For each slot, the id of the shard that owns it.
        shards: The ids of the shards that are to own all slots, without repeats.

    Returns:
        The moves: one for each pair of shards between which slots move.

    Raises:
        ValueError: if there is no shard, or more than there are slots.
    """
    _check_count(shards, owners)
    counts = {shard: int(np.count_nonzero(owners == shard)) for shard in shards}
    goals = _goals(counts, owners.size)
    spare: list[tuple[int, np.ndarray]] = []
    for source in np.unique(owners).tolist():
        own = np.flatnonzero(owners == source)
        surplus = own[goals.get(source, 0) :]
        if surplus.size:
            spare.append((source, surplus))
    moves = []
    for taker in shards:
        missing = goals[taker] - counts[taker]
        while missing > 0:
            source, slots = spare.pop()
            taken, left = slots[-missing:], slots[:-missing]
            moves.append(Move(source, taker, taken))
            missing -= taken.size
            if left.size:
                spare.append((source, left))
    return moves


def load_moves(
    owners: np.ndarray, loads: np.ndarray, shards: Sequence[int]
) -> list[Move]:
    """Returns a few moves after which the shards have about the same load.

    The busiest slots that fit move, so that few do. No shard has more than 1.02 times
    the mean then, where the slots allow that: a slot cannot be divided, so a shard with
    one slot that is busier than the mean keeps this slot, gives all others that are
    busy away, and the other shards share the rest. Slots without a load stay where they
    are, unless their shard gives all slots away: then those shards get them that own
    fewest.

    Example:

    >>> loads = np.zeros(16384)
    >>> loads[:4] = [3, 1, 1, 1]
    >>> [(move.source, move.taker, move.slots.tolist())
    ...  for move in load_moves(np.repeat([7, 8], 8192), loads, [7, 8])]
    [(7, 8, [1, 2, 3])]

    Args:
        owners: For each slot, the id of the shard that owns it.
        loads: For each slot, how busy it is, from 0 on. If no slot is busy, the moves
            are those of `even_moves`.
        shards: The ids of the shards that are to own all slots, without repeats.

    Returns:
        The moves: one for each pair of shards between which slots move.

    Raises:
        ValueError: if there is no shard, or more than there are slots.
    """
    _check_count(shards, owners)
    if not loads.any():
        return even_moves(owners, shards)
    leveled = _Leveled(owners.tolist(), loads.tolist(), shards)
    leveled.adopt()
    leveled.level()
    after = np.array(leveled.owners, owners.dtype)
    return [
        Move(source, taker, np.flatnonzero((owners == source) & (after == taker)))
        for taker in shards
        for source in np.unique(owners[(after == taker) & (owners != taker)]).tolist()
    ]


class _Leveled:
    """Gives slots to shards, one after the other, until their loads are even."""

    def __init__(
        self, owners: list[int], loads: list[float], shards: Sequence[int]
    ) -> None:
        self.owners = owners
        self._loads = loads
        self._shards = list(shards)
        self._totals = dict.fromkeys(shards, 0.0)
        # For each shard its slots that have a load, least busy first.
        self._busy: dict[int, list[tuple[float, int]]] = {each: [] for each in shards}
        for load, slot in sorted(zip(loads, range(len(owners)))):
            if owners[slot] in self._busy and load > 0:
                self._busy[owners[slot]].append((load, slot))
                self._totals[owners[slot]] += load

    def adopt(self) -> None:
        """Gives each slot of a shard that is to own none to another one."""
        orphans = [
            slot for slot, owner in enumerate(self.owners) if owner not in self._busy
        ]
        least = [(self._totals[each], place) for place, each in enumerate(self._shards)]
        heapq.heapify(least)
        for slot in sorted(orphans, key=lambda slot: (-self._loads[slot], slot)):
            if self._loads[slot] > 0:
                place = least[0][1]
                self._give(slot, self._shards[place])
                total = self._totals[self._shards[place]]
                heapq.heapreplace(least, (total, place))
        counts = {each: self.owners.count(each) for each in self._shards}
        fewest = [(counts[each], place) for place, each in enumerate(self._shards)]
        heapq.heapify(fewest)
        for slot in orphans:
            if self._loads[slot] == 0:
                count, place = fewest[0]
                self.owners[slot] = self._shards[place]
                heapq.heapreplace(fewest, (count + 1, place))

    def level(self) -> None:
        """Moves slots from the busiest shard until no move makes it less busy."""
        shards = list(self._shards)
        while len(shards) > 1:
            mean = sum(self._totals[each] for each in shards) / len(shards)
            busiest = max(shards, key=self._totals.__getitem__)
            if self._totals[busiest] <= (1 + _TOLERANCE) * mean:
                return
            least_busy = min(shards, key=self._totals.__getitem__)
            slot = self._fitting(busiest, least_busy, mean)
            if slot is None:
                shards.remove(busiest)
            else:
                self._take(slot, busiest)
                self._give(slot, least_busy)

    def _fitting(self, source: int, taker: int, mean: float) -> int | None:
        """The slot of `source` to move to `taker`; None if no move is of use.

        It is the busiest one after which neither has passed the mean by much. If there
        is none, it is the least busy one, if `taker` is then less busy than `source` is
        now.
        """
        busy = self._busy[source]
        room = min(self._totals[source] - mean, mean - self._totals[taker])
        room += _TOLERANCE * mean / 2
        fits = bisect.bisect_right(busy, (room, len(self.owners)))
        if fits:
            return busy[fits - 1][1]
        margin = _TOLERANCE * mean
        if busy and self._totals[taker] + busy[0][0] + margin < self._totals[source]:
            return busy[0][1]
        return None

    def _take(self, slot: int, source: int) -> None:
        entry = (self._loads[slot], slot)
        del self._busy[source][bisect.bisect_left(self._busy[source], entry)]
        self._totals[source] -= entry[0]

    def _give(self, slot: int, taker: int) -> None:
        self.owners[slot] = taker
        bisect.insort(self._busy[taker], (self._loads[slot], slot))
        self._totals[taker] += self._loads[slot]


def _check_count(shards: Sequence[int], owners: np.ndarray) -> None:
    if not 1 <= len(shards) <= owners.size:
        raise ValueError(
            f"`shards` must have 1 to {owners.size} entries. Received: {len(shards)}"
        )


def _goals(counts: dict[int, int], slots: int) -> dict[int, int]:
    """How many slots each shard is to own: those that own most get one more."""
    each, rest = divmod(slots, len(counts))
    by_count = sorted(counts, key=lambda shard: -counts[shard])
    return {shard: each + (place < rest) for place, shard in enumerate(by_count)}
