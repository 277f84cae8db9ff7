"""Predicted bytes of rows are those that a store reports."""

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf.client.session import TableSettings
from persia_tf.planning.kept_rows import capacity_rows
from persia_tf.planning.memory import table_bytes
from persia_tf.planning.row_layout import stored_table

DIM = 8


def settings_of(optimizer=None, **options):
    rule = ptf.optimizers.SGD(0.1) if optimizer is None else optimizer
    return TableSettings(
        dim=options.pop("dim", DIM),
        initializer="zeros",
        optimizer=rule.spec(),
        seed=0,
        **options,
    )


# The columns of docs/tables.md.
@pytest.mark.parametrize(
    ("optimizer", "floats"),
    [
        (ptf.optimizers.SGD(0.1), 0),
        (ptf.optimizers.SGD(0.1, momentum=0.9), DIM),
        (ptf.optimizers.Adagrad(0.1), DIM),
        (ptf.optimizers.RowWiseAdagrad(0.1), 1),
        (ptf.optimizers.Adam(), 2 * DIM + 1),
        (ptf.optimizers.Adam(amsgrad=True), 3 * DIM + 1),
        (ptf.optimizers.Ftrl(0.1), 2 * DIM),
    ],
    ids=repr,
)
def test_state_has_the_columns_of_its_optimizer(optimizer, floats):
    assert stored_table(settings_of(optimizer)).layout.state == 4 * floats


@pytest.mark.parametrize(
    ("options", "weights", "use"),
    [
        ({}, 4 * DIM, 0),
        ({"row_dtype": "bfloat16", "dim": 5}, 12, 0),
        ({"row_dtype": "int8", "dim": 6}, 12, 0),
        ({"eviction": "lru", "capacity": "rows(count=9.0)"}, 4 * DIM, 8),
        ({"eviction": "ttl(steps=5.0)"}, 4 * DIM, 8),
    ],
)
def test_weights_are_padded_and_uses_noted_if_rows_are_evicted(options, weights, use):
    layout = stored_table(settings_of(**options)).layout
    assert (layout.weights, layout.use) == (weights, use)


def test_no_table_stays_behind():
    before = [table.name for table in ptf.Cluster.embedded().stats()[0].tables]
    stored_table(settings_of())
    after = [table.name for table in ptf.Cluster.embedded().stats()[0].tables]
    assert before == after


@pytest.mark.parametrize("rows", [50, 3_000, 60_000])
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (None, {"dim": 4}),
        (ptf.optimizers.Adam(), {"dim": 16}),
        (ptf.optimizers.Adagrad(0.1), {"dim": 64, "row_dtype": "int8"}),
    ],
    ids=["sgd", "adam", "int8"],
)
def test_a_table_takes_the_memory_that_is_predicted(optimizer, options, rows, table):
    settings = settings_of(optimizer, **options)
    cluster = ptf.Cluster.embedded()
    cluster.create_table(table, settings)
    ids = np.random.default_rng(0).integers(2**60, size=rows)
    weights = np.zeros((rows, settings.dim), np.float32)
    ptf.Table(table, cluster).assign(ids, weights)
    [measured] = [
        each.bytes for each in cluster.stats()[0].tables if each.name == table
    ]
    ptf.Table(table, cluster).drop()
    stored = stored_table(settings)
    predicted = table_bytes(rows, stored.layout.bytes, stored.empty_bytes)
    assert predicted == pytest.approx(measured, rel=0.04)


def test_more_shards_take_more_memory_for_the_same_rows():
    stored = stored_table(settings_of())
    one, four = (
        table_bytes(10_000, stored.layout.bytes, stored.empty_bytes, shards)
        for shards in (1, 4)
    )
    assert one < four < one + 4 * stored.empty_bytes


def test_capacities_are_numbers_of_rows():
    assert capacity_rows("unlimited", 32) is None
    assert capacity_rows("rows(count=500.0)", 32) == 500
    assert capacity_rows("bytes(count=4900.0)", 32) == 100
