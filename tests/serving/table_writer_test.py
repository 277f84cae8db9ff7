"""Places that a writer assigns and takes back, in a table of TensorFlow."""

import threading

import numpy as np
import pytest

from persia_tf.serving.served_table import ServedTable
from persia_tf.serving.table_writer import GRACE_SECONDS, TableWriter

DIM = 2


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def table():
    table = ServedTable(1, DIM, "float32")
    ids = np.arange(10)
    table.append(ids, rows_of(ids))
    return table


@pytest.fixture
def writer(table, clock):
    return TableWriter(table, clock)


def rows_of(ids, scale=1.0):
    return np.repeat(np.asarray(ids, np.float32) * scale, DIM).reshape(-1, DIM)


def rows_in(table):
    ids = table.ids()
    return dict(zip(ids.numpy().tolist(), table.lookup(ids).numpy()[:, 0].tolist()))


def array(*ids):
    return np.array(ids, np.int64)


def test_rows_that_are_there_change_in_their_places(table, writer):
    places = int(table.size()["places"])
    writer.set(array(3, 4), rows_of(array(3, 4), 10))
    assert rows_in(table) == {**{i: i for i in range(10)}, 3: 30, 4: 40}
    assert int(table.size()["places"]) == places


def test_new_rows_get_places_of_their_own(table, writer):
    writer.set(array(3, 100, -7), rows_of(array(3, 100, -7), 10))
    assert rows_in(table) == {**{i: i for i in range(10)}, 3: 30, 100: 1000, -7: -70}


def test_rows_that_are_erased_give_zeros(table, writer):
    writer.erase(array(3, 4, 99))
    assert sorted(rows_in(table)) == [0, 1, 2, 5, 6, 7, 8, 9]
    assert not table.lookup(array(3)).numpy().any()


def test_a_place_rests_before_another_id_gets_it(table, writer, clock):
    [place] = table.find(array(3)).numpy()
    writer.erase(array(3))
    clock.now = GRACE_SECONDS - 1
    writer.set(array(100), rows_of(array(100)))
    assert table.find(array(100)).numpy() != place
    clock.now = GRACE_SECONDS
    writer.set(array(200), rows_of(array(200)))
    assert table.find(array(200)).numpy() == place
    assert rows_in(table) == {**{i: i for i in range(10) if i != 3}, 100: 100, 200: 200}


def test_places_do_not_grow_in_number_where_as_many_rows_go_as_come(
    table, writer, clock
):
    for turn in range(50):
        clock.now += GRACE_SECONDS
        new, old = turn + 10, turn
        writer.erase(array(old))
        writer.set(array(new), rows_of(array(new)))
    assert int(table.size()["places"]) <= 20
    assert rows_in(table) == {i: i for i in range(50, 60)}


def test_a_later_writer_lets_the_places_of_an_earlier_one_rest(table, writer, clock):
    [place] = table.find(array(3)).numpy()
    writer.erase(array(3))
    later = TableWriter(table, clock)
    later.set(array(100), rows_of(array(100)))
    assert table.find(array(100)).numpy() != place
    clock.now = GRACE_SECONDS
    later.set(array(200), rows_of(array(200)))
    assert table.find(array(200)).numpy() == place


def test_an_empty_table_takes_rows(clock):
    table = ServedTable(1, DIM, "float32")
    TableWriter(table, clock).set(array(5), rows_of(array(5)))
    assert rows_in(table) == {5: 5}


def test_lookups_meanwhile_get_an_id_s_own_row_or_zeros(table, writer):
    """Both weights of a row are its id, so that a wrong or torn row shows."""
    ids = np.arange(1, 400)
    stop = threading.Event()
    wrong = []

    def look_up():
        while not stop.is_set():
            rows = table.lookup(ids).numpy()
            right = (rows % ids[:, None] == 0) & (rows[:, :1] == rows)
            if not right.all():
                wrong.append(rows)

    readers = [threading.Thread(target=look_up) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(1, 60):
        some = np.random.default_rng(turn).permutation(ids)[:100]
        writer.set(some, rows_of(some, turn))
        writer.erase(some[:50])
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
