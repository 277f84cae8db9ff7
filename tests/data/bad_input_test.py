"""Files that are damaged, differ or vanish: errors name them, and reading goes on."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf.data.reading import csv_files, tfrecord_files

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1000
FAILURE = (tf.errors.OpError, errors.PersiaError)


@pytest.fixture
def folder(tmp_path):
    for number, name in enumerate(["a", "b"]):
        first = number * ROWS
        columns = {
            "id": np.arange(first, first + ROWS),
            "price": np.arange(ROWS, dtype=np.float32),
        }
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet", 100)
    return tmp_path


def ids(dataset):
    return np.concatenate([batch["id"].numpy() for batch in dataset])


def damage_pages(path):
    """Overwrites the first half of a file, but not its head and its footer."""
    whole = path.read_bytes()
    half = len(whole) // 2
    path.write_bytes(whole[:4] + b"\xff" * (half - 4) + whole[half:])


def vanish(path):
    path.unlink()


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


def fail_and_mend(folder, harm, shuffle_buffer, message):
    """Harms a file after the dataset was made, mends it, and goes on reading."""
    expected = ids(ptf.data.parquet(folder, 64, shuffle_buffer=shuffle_buffer))
    dataset = ptf.data.parquet(folder, 64, shuffle_buffer=shuffle_buffer)
    path = folder / "b.parquet"
    whole = path.read_bytes()
    harm(path)
    found = []
    with pytest.raises(FAILURE, match=message):
        for batch in dataset:
            found += batch["id"].numpy().tolist()
    path.write_bytes(whole)
    # As a program that is started again.
    resumed = ptf.data.parquet(folder, 64, shuffle_buffer=shuffle_buffer)
    resumed.persia_source.seek([0, len(found) // 64])
    found += ids(resumed).tolist()
    assert found == expected.tolist()


@pytest.mark.parametrize("shuffle_buffer", [0, 300])
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage_pages, "cannot read .*b.parquet"),
        (truncate, "cannot read .*b.parquet"),
        (vanish, "there is no file .*b.parquet"),
    ],
)
def test_a_job_goes_on_once_a_file_was_mended(folder, harm, shuffle_buffer, message):
    fail_and_mend(folder, harm, shuffle_buffer, message)


def test_a_file_with_other_row_groups_than_before_is_refused(folder):
    dataset = ptf.data.parquet(folder, 64)
    table = pq.read_table(folder / "b.parquet")
    pq.write_table(table, folder / "b.parquet", 200)
    with pytest.raises(FAILURE, match="b.parquet' has changed .* had 100 rows"):
        list(dataset)


def test_the_second_file_has_another_type(folder):
    columns = {"id": np.arange(3.0), "price": np.zeros(3, np.float32)}
    pq.write_table(pa.table(columns), folder / "b.parquet")
    with pytest.raises(errors.InvalidArgumentError, match="b.parquet': column 'id'"):
        ptf.data.parquet(folder, 64)


def test_a_list_without_one_of_its_values(tmp_path):
    lists = [[1], [2, 3], [], [4, None]]
    pq.write_table(pa.table({"items": lists}), tmp_path / "a.parquet")
    with pytest.raises(FAILURE, match="a.parquet', row 3 .*list of column 'items'"):
        list(ptf.data.parquet(tmp_path, 2))


def test_text_files_lack_columns_or_have_wrong_values(tmp_path):
    (tmp_path / "a.csv").write_text("id,price\n1,0.5\n2,1.5\n")
    with pytest.raises(errors.InvalidArgumentError, match="a.csv' has no column 'x'"):
        ptf.data.csv(tmp_path / "a.csv", 64, columns=["id", "x"])
    (tmp_path / "b.csv").write_text("id,price\n3,2.5\n4,\n5,cheap\n")
    with pytest.raises(FAILURE, match="b.csv', .*column 'price'.*'cheap'"):
        list(ptf.data.csv(tmp_path, 64))
    (tmp_path / "b.csv").write_text("id,price\n3,2.5\n4,\n")
    with pytest.raises(FAILURE, match="b.csv', line 3: column 'price' has no value"):
        list(ptf.data.csv(tmp_path, 64))


def test_a_line_that_is_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK_BYTES", 64)
    names = ["n" + str(i) * (200 if i == 500 else 1) for i in range(ROWS)]
    lines = "".join(f"{i},{name}\n" for i, name in enumerate(names))
    (tmp_path / "a.csv").write_text("id,name\n" + lines)
    batches = list(ptf.data.csv(tmp_path / "a.csv", 64))
    assert ids(batches).tolist() == list(range(ROWS))
    found = np.concatenate([batch["name"].numpy() for batch in batches])
    assert [name.decode() for name in found] == names


FEATURES = {"id": tf.io.FixedLenFeature([], tf.int64)}


def write_records(path, first=0, count=100, name="id"):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for i in range(first, first + count):
            value = tf.train.Feature(int64_list=tf.train.Int64List(value=[i]))
            features = tf.train.Features(feature={name: value})
            writer.write(tf.train.Example(features=features).SerializeToString())


@pytest.mark.parametrize("shuffle_buffer", [0, 50])
def test_a_file_of_records_is_read_by_ranges(tmp_path, monkeypatch, shuffle_buffer):
    monkeypatch.setattr(tfrecord_files, "_PART_BYTES", 500)
    monkeypatch.setattr(tfrecord_files, "_CHUNK_BYTES", 100)
    write_records(tmp_path / "a", 0)
    write_records(tmp_path / "b", 100)
    dataset = ptf.data.tfrecord(
        tmp_path, 32, FEATURES, shuffle_buffer=shuffle_buffer, label="id"
    ).map(lambda features, label: {"id": label})
    assert dataset.cardinality().numpy() == 7
    assert sorted(ids(dataset)) == list(range(200))


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
@pytest.mark.parametrize("at", [0.3, 0.99])
def test_a_damaged_record(tmp_path, monkeypatch, part_bytes, at):
    monkeypatch.setattr(tfrecord_files, "_PART_BYTES", part_bytes)
    write_records(tmp_path / "a")
    whole = bytearray((tmp_path / "a").read_bytes())
    whole[int(len(whole) * at)] ^= 0xFF
    (tmp_path / "a").write_bytes(whole)
    with pytest.raises(FAILURE, match="cannot read .*/a'"):
        list(ptf.data.tfrecord(tmp_path, 32, FEATURES))


@pytest.mark.parametrize("part_bytes", [500, 1 << 20])
def test_a_truncated_file_of_records(tmp_path, monkeypatch, part_bytes):
    monkeypatch.setattr(tfrecord_files, "_PART_BYTES", part_bytes)
    write_records(tmp_path / "a")
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-7])
    with pytest.raises(FAILURE, match="cannot read .*/a'"):
        list(ptf.data.tfrecord(tmp_path, 32, FEATURES))


def test_an_example_without_the_feature(tmp_path):
    write_records(tmp_path / "a", name="other")
    with pytest.raises(tf.errors.OpError, match="id"):
        list(ptf.data.tfrecord(tmp_path, 32, FEATURES))
