"""A model with divided layers trains as one process does with the same batches."""

import json

import numpy as np
import pytest
from group_programs import preamble

TRAIN = """
with strategy.scope():
    model = make_model()
    APPLY
    model.fit(data, epochs=10, shuffle=False, verbose=0)
    loss = model.evaluate(data, verbose=0)
say(weights=listed(model.get_weights()), loss=loss)
"""

APPLIED = {
    "columns": 'divide(model, wide="columns", narrow="columns")',
    "rows": 'divide(model, wide="rows", narrow="rows")',
    "columns, then rows": 'divide(model, wide="columns", narrow="rows")',
}


def weights_of(result):
    # Without those that have no elements, which represent rows.
    return [np.asarray(each) for each in result["weights"] if each]


def assert_equal(found, expected):
    for here, there in zip(weights_of(found), weights_of(expected), strict=True):
        assert np.abs(here - there).max() <= 1e-6 * np.abs(there).max()
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)


@pytest.fixture
def expected(run_python):
    """The report of one process."""
    if not _expected:
        output = run_python(preamble() + TRAIN.replace("APPLY", ""))
        _expected.append(json.loads(output.splitlines()[-1]))
    return _expected[0]


_expected = []


@pytest.mark.parametrize(
    "axes",
    [
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("columns", "rows")),
        "columns, then rows",
    ],
)
def test_a_group_trains_as_one_process(axes, run_workers, expected):
    program = preamble() + TRAIN.replace("APPLY", APPLIED[axes])
    first, second = [ended.result() for ended in run_workers(program)]
    assert first == second
    assert_equal(first, expected)


@pytest.mark.slow
@pytest.mark.parametrize("group_size", [1, 2, 4])
@pytest.mark.parametrize("axes", ["columns", "rows"])
def test_groups_train_as_one_process(axes, group_size, run_workers, expected):
    program = preamble(group_size) + TRAIN.replace("APPLY", APPLIED[axes])
    if group_size == 1:
        program = program.replace(APPLIED[axes], "divide(model)")
    results = [ended.result() for ended in run_workers(program, 4)]
    assert all(each == results[0] for each in results)
    assert_equal(results[0], expected)
