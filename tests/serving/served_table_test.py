"""Tables of an export that are updated while lookups read them."""

import threading

import numpy as np
import pytest
import tensorflow as tf

from persia_tf.serving.served_rows import ROW_DTYPES
from persia_tf.serving.served_table import ServedTable

DIM = 8
NAME = 'job/a "b" c.d:ü'
WITHIN = {"float32": 0, "float16": 2**-11, "int8": 0.5 / 127 * (1 + 1e-6)}


@pytest.fixture(params=ROW_DTYPES)
def row_dtype(request):
    return request.param


class Model(tf.Module):
    """A module with a table as exports have it."""

    def __init__(self, row_dtype):
        super().__init__()
        self.tables = {NAME: ServedTable(4, DIM, row_dtype)}
        ids = tf.TensorSpec((None,), tf.int64)
        lookup = self.tables[NAME].lookup
        self.serve = tf.function(lambda ids: lookup(ids), input_signature=[ids])


@pytest.fixture
def loaded(row_dtype, tmp_path):
    """A SavedModel with the rows of ids 5 and -7, at places 1 and 2."""
    model = Model(row_dtype)
    model.tables[NAME].append(np.array([5, -7]), some_rows(2))
    path = str(tmp_path / "model")
    tf.saved_model.save(model, path)
    return tf.saved_model.load(path)


def some_rows(count, seed=1):
    return np.random.default_rng(seed).normal(size=(count, DIM)).astype("float32")


def int64(*values):
    return tf.constant(values, tf.int64)


def held(row_dtype, rows):
    """The rows after they were held, computed by NumPy."""
    if row_dtype == "int8":
        scales = np.abs(rows).max(axis=1, keepdims=True) * np.float32(1 / 127)
        divisors = np.where(scales > 0, scales, np.float32(1))
        return np.rint(rows / divisors).astype("int8") * scales
    return rows.astype(row_dtype).astype("float32")


def held_at_first(row_dtype):
    return held(row_dtype, some_rows(2))


def test_it_knows_its_ids_and_their_places(loaded):
    table = loaded.tables[NAME]
    assert table.find(int64(-7, 0, 5)).numpy().tolist() == [2, 0, 1]
    assert sorted(table.ids().numpy()) == [-7, 5]
    size = table.size()
    assert (int(size["ids"]), int(size["places"])) == (2, 4)


def test_rows_are_held_as_numpy_would_hold_them(loaded, row_dtype):
    rows = some_rows(300, seed=2) * np.logspace(-3, 3, 300, dtype="float32")[:, None]
    rows[:3] = [[0.0] * DIM, [1e-7] * DIM, [0.5, 1.5, 2.5, -0.5, -2.5, 127, 0, 0]]
    table = loaded.tables[NAME]
    table.grow(int64(400)[0])
    places = tf.range(3, 303, dtype=tf.int64)
    table.write(places, rows)
    table.link(places + 1000, places)
    found = loaded.serve(places + 1000).numpy()
    np.testing.assert_array_equal(found, held(row_dtype, rows))
    np.testing.assert_array_equal(loaded.serve(int64(5, -7)), held_at_first(row_dtype))


def test_rows_stay_within_their_bound(row_dtype):
    table = ServedTable(1, DIM, row_dtype)
    rows = some_rows(2000) * np.logspace(-2, 2, 2000, dtype="float32")[:, None]
    table.append(np.arange(2000), rows)
    most = np.abs(rows).max(axis=1, keepdims=True)
    found = table.lookup(tf.range(2000, dtype=tf.int64)).numpy()
    assert (np.abs(found - rows) <= WITHIN[row_dtype] * most).all()


def test_float16_rows_take_what_is_too_large_as_their_largest():
    table = ServedTable(1, 2, "float16")
    table.append(np.array([1]), np.array([[1e6, -np.inf]], "float32"))
    assert table.lookup(int64(1)).numpy().tolist() == [[65504, -65504]]


def test_ids_come_and_go(loaded, row_dtype):
    table = loaded.tables[NAME]
    new = some_rows(1, seed=3)
    table.write(int64(3), new)
    assert not loaded.serve(int64(9)).numpy().any()  # Not linked yet.
    table.link(int64(9), int64(3))
    np.testing.assert_array_equal(loaded.serve(int64(9)), held(row_dtype, new))
    table.unlink(int64(5, 12345))
    assert not loaded.serve(int64(5)).numpy().any()
    assert sorted(table.ids().numpy()) == [-7, 9]


def test_it_grows_by_an_eighth_at_least_and_keeps_its_rows(loaded, row_dtype):
    table = loaded.tables[NAME]
    places = []
    for count in (3, 100, 101, 102, 113):
        table.grow(int64(count)[0])
        places.append(int(table.size()["places"]))
    assert places == [4, 100, 112, 112, 126]
    np.testing.assert_array_equal(loaded.serve(int64(5, -7)), held_at_first(row_dtype))


def test_no_row_is_torn_by_a_write(loaded):
    table = loaded.tables[NAME]
    places = tf.range(1, 257, dtype=tf.int64)
    table.grow(int64(300)[0])
    table.link(places, places)
    table.write(places, tf.zeros((256, DIM)))
    torn, is_over = [], threading.Event()

    def look_up():
        while not is_over.is_set():
            rows = loaded.serve(places).numpy()
            torn.extend(rows[(rows != rows[:, :1]).any(axis=1)])

    readers = [threading.Thread(target=look_up) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for value in range(500):
            # All numbers of a row change, and so does the scale of an int8 row.
            table.write(places, tf.fill((256, DIM), float(value % 7 - 3)))
            if value % 100 == 0:
                table.grow(table.size()["places"] + 1)
    finally:
        is_over.set()
        for reader in readers:
            reader.join()
    assert not torn


def test_ids_that_are_multiples_of_its_buckets_share_none():
    # TensorFlow's table puts an id into a bucket modulo their number, a listed prime.
    buckets = 172_933
    ids = np.arange(-1000, 1000) * buckets
    table = ServedTable(1, DIM, "float32")
    table.append(ids, some_rows(2000))
    keys = table._places.export()[0].numpy().view(np.uint64)
    _, shared = np.unique(keys % np.uint64(buckets), return_counts=True)
    assert shared.max() < 20
    assert sorted(table.ids().numpy()) == sorted(ids)
    assert table.find(tf.constant(ids)).numpy().tolist() == [*range(1, 2001)]
