"""Which slots move so that shards own them evenly."""

from __future__ import annotations

import numpy as np
import pytest

from persia_tf.resharding.plan import even_moves

SLOTS = 16384


def owners_of(*shards: int) -> np.ndarray:
    """Owners of slots, as a new cluster of these shards has them."""
    parts = np.array_split(range(SLOTS), len(shards))
    return np.repeat(shards, [len(part) for part in parts])


def after(owners: np.ndarray, shards: list[int]) -> tuple[np.ndarray, int]:
    """The owners after the moves, and how many slots moved."""
    owners, moved = owners.copy(), 0
    for move in even_moves(owners, shards):
        assert (owners[move.slots] == move.source).all()
        owners[move.slots] = move.taker
        moved += move.slots.size
    return owners, moved


@pytest.mark.parametrize(
    ("before", "shards", "share"),
    [
        ([1], [1, 2], 1 / 2),
        ([1, 2], [1, 2, 3], 1 / 3),
        ([1, 2, 3], [1, 2], 1 / 3),
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], 1 / 6),
        ([1, 2], [3, 4], 1),
        ([1, 2, 3], [2, 3, 4], 1 / 3),
        ([1, 2], [2, 1], 0),
    ],
)
def test_shards_own_slots_evenly_and_as_few_as_possible_move(before, shards, share):
    owners, moved = after(owners_of(*before), shards)
    counts = [np.count_nonzero(owners == shard) for shard in shards]
    assert sum(counts) == SLOTS
    assert max(counts) - min(counts) <= 1
    assert moved == pytest.approx(share * SLOTS, abs=len(before))


def test_each_pair_of_shards_has_one_move():
    moves = even_moves(owners_of(1, 2, 3, 4), [5, 6])
    pairs = [(move.source, move.taker) for move in moves]
    assert len(pairs) == len(set(pairs))


def test_no_shards_are_refused():
    with pytest.raises(ValueError, match="must have 1 to 16384 entries"):
        even_moves(owners_of(1), [])
