"""Which slots move so that shards own them evenly, or are equally busy."""

from __future__ import annotations

import numpy as np
import pytest

from persia_tf.resharding.plan import even_moves, load_moves

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


def loaded(busy: dict[int, float], each: float = 0.0) -> np.ndarray:
    """Loads of slots: those of `busy`, and `each` of all others."""
    loads = np.full(SLOTS, each)
    for slot, load in busy.items():
        loads[slot] = load
    return loads


def leveled(
    owners: np.ndarray, loads: np.ndarray, shards: list[int]
) -> tuple[np.ndarray, np.ndarray, int]:
    """The owners and the shards' loads after `load_moves`, and how many slots moved."""
    before, owners = owners, owners.copy()
    moves = load_moves(before, loads, shards)
    for move in moves:
        assert (before[move.slots] == move.source).all()
        assert (np.diff(move.slots) > 0).all()
        owners[move.slots] = move.taker
    pairs = [(move.source, move.taker) for move in moves]
    assert len(pairs) == len(set(pairs))
    assert set(np.unique(owners)) <= set(shards)
    totals = np.array([loads[owners == shard].sum() for shard in shards])
    return owners, totals, int(np.count_nonzero(owners != before))


def skewed(seed: int, exponent: float = 1.0) -> np.ndarray:
    """Loads that fall as a power of their rank, of slots in a random order."""
    ranks = np.random.default_rng(seed).permutation(SLOTS) + 1
    return 1.0 / ranks**exponent


@pytest.mark.parametrize("exponent", [0.3, 0.8, 1.0])
@pytest.mark.parametrize(
    ("before", "shards"),
    [
        ([1, 2], [1, 2]),
        ([1, 2], [1, 2, 3]),
        ([1, 2, 3], [1, 2]),
        ([1, 2, 3], [2, 3, 4]),
        ([1], [1, 2]),
        ([1, 2], [3, 4]),
        ([1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_no_shard_has_more_than_a_little_above_the_mean(before, shards, exponent):
    loads = skewed(3, exponent)
    _, totals, _ = leveled(owners_of(*before), loads, shards)
    assert totals.sum() == pytest.approx(loads.sum())
    assert totals.max() <= 1.0201 * totals.mean()


def test_a_busy_slot_moves_alone():
    loads = loaded({10: 500, 20: 500}, each=0.1)
    owners, totals, moved = leveled(owners_of(1, 2), loads, [1, 2])
    assert moved == 1
    assert owners[20] == 2 and owners[10] == 1
    assert totals.max() <= 1.02 * totals.mean()


def test_a_shard_that_joins_gets_the_busiest_slots():
    loads = skewed(1)
    _, totals, moved = leveled(owners_of(1, 2), loads, [1, 2, 3])
    assert totals.max() <= 1.0201 * totals.mean()
    assert moved < SLOTS / 50


def test_loads_that_are_even_already_stay():
    assert load_moves(owners_of(1, 2, 3), loaded({}, each=1), [1, 2, 3]) == []
    almost = loaded({5: 50}, each=1)
    assert load_moves(owners_of(1, 2, 3), almost, [1, 2, 3]) == []


def test_a_slot_that_is_busier_than_the_mean_is_left_alone_in_its_shard():
    loads = loaded({100: 10 * SLOTS}, each=1)
    owners, totals, _ = leveled(owners_of(1, 2, 3), loads, [1, 2, 3])
    assert totals[0] == 10 * SLOTS
    assert owners[100] == 1
    assert totals[1:].max() <= 1.02 * totals[1:].mean()


def test_two_slots_busier_than_the_mean_get_a_shard_each():
    loads = loaded({100: 5 * SLOTS, 200: 4 * SLOTS}, each=0.01)
    owners, totals, _ = leveled(owners_of(1, 2, 3), loads, [1, 2, 3])
    assert owners[100] != owners[200]
    assert sorted(totals)[1:] == [4 * SLOTS, 5 * SLOTS]


def test_slots_without_load_stay_unless_their_shard_leaves():
    loads = loaded({slot: 1 for slot in range(0, SLOTS, 100)})
    owners, _, _ = leveled(owners_of(1, 2), loads, [1, 2, 3])
    idle = loads == 0
    assert (owners[idle] == owners_of(1, 2)[idle]).all()
    owners, _, _ = leveled(owners_of(1, 2, 3), loads, [1, 2])
    counts = [np.count_nonzero(owners == shard) for shard in (1, 2)]
    assert counts[0] == pytest.approx(counts[1], abs=SLOTS / 100)


def test_without_any_load_counts_are_made_even():
    owners, _, _ = leveled(owners_of(1, 2), loaded({}), [1, 2, 3])
    assert (owners == after(owners_of(1, 2), [1, 2, 3])[0]).all()


def test_the_plan_is_the_same_each_time():
    plans = [load_moves(owners_of(1, 2), skewed(9), [3, 1, 2]) for _ in range(2)]
    assert [each.slots.tolist() for each in plans[0]] == [
        each.slots.tolist() for each in plans[1]
    ]


def test_ids_of_shards_may_have_64_bits():
    first, second = 2**64 - 1, 2**63 + 1
    owners = np.repeat(np.array([first, second], np.uint64), SLOTS // 2)
    loads = loaded({0: 5, 1: 5})
    [move] = load_moves(owners, loads, [first, second])
    assert (move.source, move.taker, move.slots.tolist()) == (first, second, [1])


def test_load_moves_needs_a_shard():
    with pytest.raises(ValueError, match="must have 1 to 16384 entries"):
        load_moves(owners_of(1), skewed(1), [])
