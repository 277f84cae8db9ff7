"""Ids of the click model."""

import numpy as np
import pytest
import workload_w1


def test_ids_are_those_that_the_workload_states():
    def splitmix64(x):
        mask = (1 << 64) - 1
        x = (x + 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    ranks = np.arange(2 * workload_w1.FEATURES).reshape(2, -1)
    ids = workload_w1.ids_of(ranks)
    assert ids[1, 3] == splitmix64(4 << 48 | int(ranks[1, 3])) >> 1


def test_ids_of_some_features_are_those_of_all():
    ranks = np.arange(3 * workload_w1.FEATURES).reshape(3, -1)
    whole = workload_w1.ids_of(ranks)
    np.testing.assert_array_equal(
        workload_w1.ids_of(ranks[:, [7, 2]], np.array([7, 2])), whole[:, [7, 2]]
    )
    np.testing.assert_array_equal(
        workload_w1.ids_of(ranks[:, 5], np.array(5)), whole[:, 5]
    )


def test_fewer_rows_scale_the_large_features_alone():
    whole, scaled = workload_w1.vocabularies(), workload_w1.vocabularies(300_000)
    assert sum(scaled) == pytest.approx(300_000, abs=10)
    assert scaled[0] == whole[0] and scaled[2] < whole[2]
    with pytest.raises(ValueError, match="140543"):
        workload_w1.vocabularies(140_543)


def test_joined_indices_are_of_one_table():
    sizes = workload_w1.vocabularies(200_000)
    # All ids of the first two features, and the largest rank of all others.
    ranks = np.array([[size - 1 for size in sizes]] * sizes[0])
    ranks[:, 0] = range(sizes[0])
    ranks[: sizes[1], 1] = range(sizes[1])
    batches = workload_w1.Batches(ranks, None, None, 200_000)
    joined = batches.joined_indices()
    assert sorted(joined[:, 0]) == list(range(sizes[0]))
    assert set(joined[:, 1]) == set(range(sizes[0], sizes[0] + sizes[1]))
    assert joined[:, 2:].max() < sum(sizes)
