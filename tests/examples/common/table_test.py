"""Tables: splits and batches."""

import numpy as np
import pytest
from common.table import Table

ROWS = 103


@pytest.fixture
def table():
    number = np.arange(ROWS)
    features = {"number": number, "pair": np.stack([number, -number], axis=1)}
    return Table(features, (number % 2).astype(np.float32), number / ROWS)


def numbers(table):
    return table.features["number"].tolist()


def test_a_split_gives_each_row_to_one_part(table):
    train, test = table.split(0.2, seed=1)
    assert len(test) == 21
    assert sorted(numbers(train) + numbers(test)) == list(range(ROWS))


def test_a_split_is_repeatable_and_depends_on_the_seed(table):
    first, same, other = (numbers(table.split(0.2, s)[1]) for s in (1, 1, 2))
    assert first == same != other


def test_taken_rows_stay_together(table):
    some = table.take(np.array([7, 3]))
    assert some.features["pair"].tolist() == [[7, -7], [3, -3]]
    assert some.labels.tolist() == [1, 1]
    assert some.probabilities.tolist() == [7 / ROWS, 3 / ROWS]


def test_a_mapped_feature_leaves_the_rest(table):
    doubled = table.map("number", lambda column: 2 * column)
    assert numbers(doubled) == [2 * i for i in range(ROWS)]
    assert doubled.features["pair"] is table.features["pair"]
    assert numbers(table) == list(range(ROWS))


def test_batches_hold_the_rows_in_order_and_the_last_is_short(table):
    batches = list(table.batches(50).as_numpy_iterator())
    assert [len(labels) for _, labels in batches] == [50, 50, 3]
    features, labels = batches[2]
    assert features["pair"].tolist() == [[i, -i] for i in (100, 101, 102)]
    assert labels.tolist() == [0, 1, 0]


def test_shuffled_batches_hold_every_row_once_in_a_new_order_each_epoch(table):
    batches = table.batches(50, shuffle_seed=3)
    epochs = [
        np.concatenate([f["number"] for f, _ in batches.as_numpy_iterator()]).tolist()
        for _ in range(2)
    ]
    assert [sorted(epoch) for epoch in epochs] == [list(range(ROWS))] * 2
    assert epochs[0] != epochs[1] != list(range(ROWS))
