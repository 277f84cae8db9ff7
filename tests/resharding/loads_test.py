"""How busy slots are, as samples of requests tell."""

from __future__ import annotations

import types

import numpy as np
import pytest

from persia_tf.resharding.loads import expected, measure
from persia_tf.resharding.plan import load_moves

SLOTS = 16384


def observed(true: np.ndarray, mean: float, seed: int) -> np.ndarray:
    """Loads of a period in which a slot was sampled `mean` times on average."""
    draw = np.random.default_rng(seed)
    counts = draw.poisson(true / true.mean() * mean).astype(float)
    return counts / counts.sum()


def flat() -> np.ndarray:
    return np.ones(SLOTS)


def skewed() -> np.ndarray:
    return 1.0 / (np.random.default_rng(2).permutation(SLOTS) + 1)


def one_hot() -> np.ndarray:
    return np.where(np.arange(SLOTS) == 7, 0.2 * SLOTS, 1.0)


def some_busy() -> np.ndarray:
    return np.where(np.arange(SLOTS) % 40 == 0, 100.0, 0.0)


def busy_shard() -> np.ndarray:
    """Busy slots of the first shard alone, and less busy ones of both."""
    busy = (np.arange(SLOTS) % 16 == 0) & (np.arange(SLOTS) < SLOTS // 2)
    return np.where(busy, 8.0, np.arange(SLOTS) % 4 == 1)


@pytest.mark.parametrize("mean", [0.5, 4, 100])
@pytest.mark.parametrize(
    "true", [flat(), skewed(), one_hot(), some_busy(), busy_shard()]
)
def test_a_plan_by_samples_makes_the_true_loads_even(true, mean):
    owners = np.repeat([1, 2], SLOTS // 2)
    loads = expected(observed(true, mean, 1), observed(true, mean, 2), owners)
    after = owners.copy()
    for move in load_moves(owners, loads, [1, 2, 3]):
        after[move.slots] = move.taker
    totals = [true[after == shard].sum() for shard in (1, 2, 3)]
    assert max(totals) < 1.06 * np.mean(totals)


def test_the_expected_loads_of_a_shard_sum_up_to_what_was_seen():
    first, second = observed(skewed(), 4, 1), observed(skewed(), 4, 2)
    owners = np.repeat([1, 2], SLOTS // 2)
    loads = expected(first, second, owners)
    for shard in (1, 2):
        own = owners == shard
        assert loads[own].sum() == pytest.approx(second[own].sum())
    nothing = np.zeros(SLOTS)
    assert not expected(first, nothing, owners).any()
    assert len(np.unique(expected(nothing, second, owners))) == 2


def test_a_busy_slot_keeps_its_load():
    owners = np.repeat([1, 2], SLOTS // 2)
    loads = expected(observed(one_hot(), 4, 1), observed(one_hot(), 4, 2), owners)
    assert loads.argmax() == 7
    assert loads[7] == pytest.approx(0.2 / 1.2, rel=0.05)


class Readings:
    """Stands for the shards: gives what each tells, one reading after the other."""

    def __init__(self, readings) -> None:
        self._readings = {member: iter(each) for member, each in readings.items()}
        members = [types.SimpleNamespace(id=member) for member in readings]
        owners = np.resize(list(readings), SLOTS)
        self.topology = types.SimpleNamespace(present=members, owners=owners)

    def slot_loads(self, member):
        counts = np.zeros((2, SLOTS))
        for slot, ids, size in next(self._readings[member]):
            counts[:, slot] = ids, size
        return counts


def test_only_what_was_asked_meanwhile_counts():
    # The second shard is restarted in the first half, and counts from 0 then.
    shards = Readings(
        {
            1: [[(2, 100, 400)], [(2, 110, 440)], [(2, 120, 480)]],
            2: [[(9, 500, 900)], [(9, 10, 120)], [(9, 20, 240)]],
        }
    )
    loads = measure(shards, shards.topology, 0.001)
    # Ids: 10 of 20 each. Bytes: 40 and 120 of 160.
    assert {slot: loads[slot] for slot in np.flatnonzero(loads).tolist()} == {
        2: pytest.approx((1 / 2 + 1 / 4) / 2),
        9: pytest.approx((1 / 2 + 3 / 4) / 2),
    }


def test_without_requests_there_is_no_load():
    shards = Readings({1: [[(2, 100, 400)]] * 3})
    assert not measure(shards, shards.topology, 0.001).any()
