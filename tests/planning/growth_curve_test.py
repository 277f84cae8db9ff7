"""The curve of distinct ids over the steps of a run."""

import numpy as np
import pytest

import persia_tf as ptf


def test_it_is_counted_in_the_sample_and_predicted_beyond(make_model, make_dataset):
    dataset = make_dataset(2_000, steps=30)
    batches = [x["in0"] for x, _ in dataset.as_numpy_iterator()]
    plan = ptf.plan(make_model({"output_dim": 4}), dataset, run_steps=100)
    [table] = plan.tables
    steps = [point.steps for point in table.growth]
    assert steps == sorted(set(steps))
    assert steps[-1] == 100 and 30 in steps
    for point in table.growth:
        if point.steps <= 30:
            met = len(np.unique(np.concatenate(batches[: point.steps])))
            assert point.ids.low == point.ids.value == point.ids.high == met
    values = [point.ids.value for point in table.growth]
    assert values == sorted(values)
    assert table.growth[-1].ids == table.ids


def test_a_short_run_has_a_point_for_each_step(make_model, make_dataset):
    [table] = ptf.plan(make_model({"output_dim": 4}), make_dataset(50)).tables
    assert [point.steps for point in table.growth] == [1, 2, 3, 4, 5, 6]
    assert table.growth[-1].ids.value == pytest.approx(table.ids.value)


def test_lookups_of_one_table_by_two_layers_are_one_step(make_model, table):
    model = make_model(
        {"output_dim": 4, "table": table}, {"output_dim": 4, "table": table}
    )
    batches = [
        {"in0": np.array([step]), "in1": np.array([step + 1])} for step in range(5)
    ]
    [planned] = ptf.plan(model, batches).tables
    assert [point.ids.value for point in planned.growth] == [2, 3, 4, 5, 6]
