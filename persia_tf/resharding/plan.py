"""Plans which slots move so that some shards own all of them, evenly."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np


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
    if not 1 <= len(shards) <= owners.size:
        raise ValueError(
            f"`shards` must have 1 to {owners.size} entries. Received: {len(shards)}"
        )
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


def _goals(counts: dict[int, int], slots: int) -> dict[int, int]:
    """How many slots each shard is to own: those that own most get one more."""
    each, rest = divmod(slots, len(counts))
    by_count = sorted(counts, key=lambda shard: -counts[shard])
    return {shard: each + (place < rest) for place, shard in enumerate(by_count)}
