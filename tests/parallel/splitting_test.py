"""Groups of workers train divided layers of every kind as one process does."""

from __future__ import annotations

import divided_layers
import numpy as np
import pytest
from worker_processes import run_cluster

# In relation to the largest weight of a variable.
_TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process reports that trains the whole model."""
    program = divided_layers.program(group_size=None)
    [ended] = run_cluster(program, 1, [], tmp_path_factory.mktemp("alone"))
    return ended.result()


@pytest.mark.parametrize(
    ("workers", "group_size"),
    [
        (2, 2),
        pytest.param(4, 2, marks=pytest.mark.slow),
        pytest.param(4, 4, marks=pytest.mark.slow),
    ],
)
def test_groups_train_as_one_process_does(run_workers, alone, workers, group_size):
    program = divided_layers.program(group_size)
    results = [ended.result() for ended in run_workers(program, workers)]
    assert max(result["difference"] for result in results) < 1e-5
    differences = _differences(alone, results[0])
    assert max(differences.values()) < _TOLERANCE, differences
    # Keys' biases change no attention, and others change a little at least.
    moved = sorted(alone["moved"])[divided_layers.KEY_BIASES :]
    assert moved[0] > 20 * _TOLERANCE


def _differences(first, second):
    """The greatest difference of each variable's weights, the greatest ones first."""
    assert first["names"] == second["names"]
    weights = zip(first["weights"], second["weights"])
    differences = [
        _difference(np.array(one), np.array(other)) for one, other in weights
    ]
    named = zip(first["names"], differences)
    return dict(sorted(named, key=lambda pair: pair[1], reverse=True))


def _difference(first, second):
    return np.abs(first - second).max() / np.abs(first).max()
