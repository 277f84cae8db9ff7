"""Readers of files: every sample once, in an order that can be gone on with."""

import numpy as np
import pytest
import tensorflow as tf

import persia_tf as ptf
from persia_tf import errors
from persia_tf.data.reading import csv_files, groups

pa = pytest.importorskip("pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1000


def write_parquet(path, first=0, rows=ROWS, group=100, **more):
    columns = {
        "id": np.arange(first, first + rows),
        "price": np.arange(rows, dtype=np.float32) / 8,
        "clicked": np.arange(rows) % 2 == 0,
        **more,
    }
    pq.write_table(pa.table(columns), path, row_group_size=group)


@pytest.fixture
def folder(tmp_path):
    write_parquet(tmp_path / "a.parquet")
    write_parquet(tmp_path / "b.parquet", first=ROWS)
    return tmp_path


def ids(dataset):
    return np.concatenate([batch["id"].numpy() for batch in dataset])


def test_files_are_read_in_their_order(folder):
    dataset = ptf.data.parquet(folder, 64)
    assert (ids(dataset) == np.arange(2 * ROWS)).all()
    assert dataset.cardinality().numpy() == len(list(dataset)) == 32
    first = next(iter(dataset))
    assert {name: each.dtype for name, each in first.items()} == {
        "id": tf.int64,
        "price": tf.float32,
        "clicked": tf.bool,
    }


def test_columns_and_labels_are_selected(folder):
    dataset = ptf.data.parquet(
        folder / "*.parquet", 100, columns=["id"], label="clicked", drop_remainder=True
    )
    features, labels = next(iter(dataset))
    assert list(features) == ["id"]
    assert (labels.numpy() == (features["id"].numpy() % 2 == 0)).all()


def test_a_smaller_last_batch_can_be_left_out(folder):
    sizes = [len(x["id"]) for x in ptf.data.parquet(folder, 300)]
    assert sizes == [300] * 6 + [200]
    dropped = ptf.data.parquet(folder, 300, drop_remainder=True)
    assert [len(x["id"]) for x in dropped] == [300] * 6
    assert dropped.cardinality().numpy() == 6


def test_epochs_have_all_samples_in_an_order_of_their_own(folder):
    def epochs(seed):
        dataset = ptf.data.parquet(folder, 64, shuffle_buffer=250, seed=seed)
        return [ids(dataset).tolist() for _ in range(2)]

    first, second = epochs(0)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(2 * ROWS))
    assert epochs(0) == [first, second]
    assert epochs(1)[0] != first
    # Neighbours come from different row groups.
    assert np.median(np.abs(np.diff(first))) > 50


def test_an_iteration_that_was_left_early_begins_again(folder):
    dataset = ptf.data.parquet(folder, 64, shuffle_buffer=250)
    expected = ids(ptf.data.parquet(folder, 64, shuffle_buffer=250))
    for _ in range(3):
        assert (next(iter(dataset))["id"].numpy() == expected[:64]).all()
    assert (ids(dataset) == expected).all()


@pytest.mark.parametrize("shuffle_buffer", [0, 1, 250, 5000])
@pytest.mark.parametrize("batches", [0, 1, 7, 31])
@pytest.mark.parametrize("values", [list, lambda position: position[:2]])
def test_reading_goes_on_at_the_next_sample(folder, shuffle_buffer, batches, values):
    def dataset():
        return ptf.data.parquet(folder, 64, shuffle_buffer=shuffle_buffer, seed=2)

    undisturbed = dataset()
    epochs = [ids(undisturbed) for _ in range(2)]
    begun = dataset()
    source = begun.persia_source
    for _, _batch in zip(range(batches), begun):
        assert not source.ends_after(batches)
    position = source.position_after(batches)
    assert position.batch == batches
    resumed = dataset()
    resumed.persia_source.seek(values(position))
    for expected in (epochs[0][64 * batches :], epochs[1]):
        assert (ids(resumed) == expected).all()
        assert resumed.persia_source.ends_after(32 - batches)
        after = resumed.persia_source.position_after(32 - batches)
        assert after[1:] == (0, 0, 0, 0)
        batches = 0


@pytest.mark.parametrize("rows", [[1000], [7] * 100, [0, 90, 0, 1, 200], [64, 64], []])
@pytest.mark.parametrize("batch_size", [1, 10, 64, 5000])
@pytest.mark.parametrize("shuffle_buffer", [0, 100])
def test_mixed_rows_fill_batches(rows, batch_size, shuffle_buffer):
    found = list(groups.groups(rows, len(rows), batch_size, shuffle_buffer))
    assert sum(group.rows for group in found) == sum(rows)
    at = 0
    for group in found:
        assert sum(rows[: group.part]) + group.skipped == at
        assert group.skipped <= rows[group.part]
        at += group.rows
        is_last = group is found[-1]
        assert is_last or group.rows % batch_size == 0
        assert is_last or group.rows > max(shuffle_buffer, batch_size) - batch_size


@pytest.mark.parametrize("shuffle_buffer", [0, 250])
@pytest.mark.parametrize("reader", ["parquet", "csv"])
def test_programs_that_train_together_read_other_batches(
    folder, shuffle_buffer, reader
):
    if reader == "csv":
        for name in "ab":
            table = pq.read_table(folder / f"{name}.parquet")
            pa_csv.write_csv(table, folder / f"{name}.csv")

    def read(**options):
        files = folder / f"*.{reader}"
        return getattr(ptf.data, reader)(
            *(files, 64), shuffle_buffer=shuffle_buffer, **options
        )

    shards = [read(shard=(number, 3)) for number in range(3)]
    for _ in range(2):  # In both epochs.
        lengths = {len(list(shard)) for shard in shards}
        assert lengths == {10}
    whole = read()
    for _ in range(2):
        expected = ids(whole)
    for number, shard in enumerate(shards):
        shard.persia_source.seek([1, 10 * number])
        own = expected[640 * number :][:640]
        assert (ids(shard) == own).all()


def test_too_few_rows_for_all_programs(folder):
    with pytest.raises(errors.InvalidArgumentError, match="too few for 40 programs"):
        ptf.data.parquet(folder, 64, shard=(0, 40))
    with pytest.raises(ValueError, match="`shard\\[0\\]` must be"):
        ptf.data.parquet(folder, 64, shard=(2, 2))
    with pytest.raises(ValueError, match="`shard` must be a pair"):
        ptf.data.parquet(folder, 64, shard=(2, 2, 2))


def test_more_batches_than_were_read_are_a_mistake(folder):
    dataset = ptf.data.parquet(folder, 64)
    next(iter(dataset))
    with pytest.raises(ValueError, match="40 batches were trained, but the dataset"):
        dataset.persia_source.position_after(40)


def test_a_look_to_the_end_is_no_epoch_once_training_begins(folder):
    dataset = ptf.data.parquet(folder, 64, shuffle_buffer=300)
    source = dataset.persia_source
    first, second = ids(dataset), ids(dataset)
    source.seek([0, 30])
    rest = list(dataset)  # A stage that reads ahead reads all of a short rest.
    assert len(rest) == 2
    source.begin()
    assert (ids(dataset) == first[30 * 64 :]).all()
    source.end_epoch(2)
    source.begin()
    assert (ids(dataset) == second).all()


def test_batches_of_the_next_epoch_may_be_read_before_the_last_is_trained(folder):
    dataset = ptf.data.parquet(folder, 64)
    source = dataset.persia_source
    source.seek([0, 29])
    endless = iter(dataset.repeat().prefetch(8))
    for _ in range(5):
        next(endless)
    assert [source.ends_after(batches) for batches in range(5)] == [
        *[False] * 3,
        True,
        False,
    ]
    assert list(source.position_after(3)) == [1, 0, 0, 0, 0]
    assert source.is_at_beginning
    assert source.position_after(2).batch == 2


def test_a_strategy_of_one_program_has_all_batches(folder):
    for strategy in (
        tf.distribute.get_strategy(),
        tf.distribute.OneDeviceStrategy("CPU:0"),
    ):
        assert len(ptf.data.parquet(folder, 64, shard=strategy)) == 32


def test_lists_are_ragged(tmp_path):
    lists = [[i] * (i % 4) for i in range(ROWS)]
    names = [[f"n{i}"] * (i % 3) for i in range(ROWS)]
    write_parquet(tmp_path / "a.parquet", items=lists, names=names)
    dataset = ptf.data.parquet(tmp_path, 64, shuffle_buffer=100)
    for batch in dataset:
        for i, items, text in zip(batch["id"], batch["items"], batch["names"]):
            assert items.numpy().tolist() == lists[int(i)]
            assert [each.decode() for each in text.numpy()] == names[int(i)]


def test_values_that_are_missing(tmp_path):
    price = [1.5 if i != 345 else None for i in range(ROWS)]
    write_parquet(tmp_path / "a.parquet", price=pa.array(price, pa.float32()))
    filled = ptf.data.parquet(tmp_path, 100, fill={"price": -1.0})
    prices = np.concatenate([batch["price"].numpy() for batch in filled])
    assert prices[345] == -1.0
    assert (np.delete(prices, 345) == 1.5).all()
    with pytest.raises(
        tf.errors.OpError, match=r"a.parquet', row 345 .* column 'price' has no value"
    ):
        list(ptf.data.parquet(tmp_path, 100))


def test_files_that_differ_are_named(folder):
    with pytest.raises(errors.InvalidArgumentError, match="a.*no column 'age'.*id"):
        ptf.data.parquet(folder, 64, columns=["id", "age"])
    write_parquet(folder / "c.parquet", id=[str(i) for i in range(ROWS)])
    with pytest.raises(
        errors.InvalidArgumentError,
        match="c.parquet': column 'id' has the type string, but in .*a.parquet.*int64",
    ):
        ptf.data.parquet(folder, 64)


def test_a_truncated_file_is_named(folder):
    whole = (folder / "b.parquet").read_bytes()
    (folder / "b.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.DataLossError, match="b.parquet"):
        ptf.data.parquet(folder, 64)


def test_files_that_are_not_there(tmp_path):
    for name in (tmp_path / "none", tmp_path / "*.parquet", tmp_path):
        with pytest.raises(errors.NotFoundError, match=str(name).replace("*", ".")):
            ptf.data.parquet(name, 64)
    with pytest.raises(TypeError, match="`files` must be a path"):
        ptf.data.parquet([], 64)
    with pytest.raises(ValueError, match="`batch_size` must be an integer from 1"):
        write_parquet(tmp_path / "a.parquet")
        ptf.data.parquet(tmp_path, 0)


def test_arguments_that_do_not_fit(folder, tmp_path):
    with pytest.raises(ValueError, match=r"`label` must be .*'price'.*label='clicks'"):
        ptf.data.parquet(folder, 64, label="clicks", columns=None)
    (tmp_path / "a.csv").write_text("id::price\n1::2\n")
    with pytest.raises(ValueError, match="`separator` must be one character.*'::'"):
        ptf.data.csv(tmp_path / "a.csv", 64, separator="::")


LINES = "".join(f"{i},{i / 8},name {i}\n" for i in range(ROWS))


@pytest.mark.parametrize("part_bytes", [100, 1000, 1 << 20])
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_are_read_once_each(tmp_path, monkeypatch, part_bytes, header, end):
    monkeypatch.setattr(csv_files, "_PART_BYTES", part_bytes)
    text = "id,price,name\n" * header + LINES.rstrip("\n") + end
    (tmp_path / "a.csv").write_text(text)
    names = None if header else ["id", "price", "name"]
    dataset = ptf.data.csv(tmp_path / "a.csv", 64, names=names, shuffle_buffer=100)
    batches = list(dataset)
    found = np.concatenate([batch["id"].numpy() for batch in batches])
    assert sorted(found) == list(range(ROWS))
    for batch in batches:
        assert (batch["price"].numpy() == batch["id"].numpy() / 8).all()
        assert batch["name"][0].numpy().decode() == f"name {batch['id'][0].numpy()}"


@pytest.mark.parametrize("part_bytes", [100, 1000, 1 << 20])
@pytest.mark.parametrize(
    "lines",
    [
        ("a", "1", "2"),
        ("a", "1", "2", ""),
        ("a", "", "1", "", "", "2", ""),
        ("a", *map(str, range(500)), ""),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("header", [True, False])
def test_rows_are_counted(tmp_path, monkeypatch, part_bytes, lines, newline, header):
    monkeypatch.setattr(csv_files, "_PART_BYTES", part_bytes)
    kept = lines if header else lines[1:]
    (tmp_path / "a.csv").write_bytes(newline.join(kept).encode())
    names = None if header else ["a"]
    dataset = ptf.data.csv(tmp_path / "a.csv", 1, names=names)
    dataset.persia_source.batches.samples.count()
    assert dataset.persia_source.length == len(list(dataset))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5,cheap,x", "a.csv'.* column 'price' .*'cheap'"),
        ("5,1.5", "a.csv'.*[Ee]xpected 3 columns, got 2"),
        (",1.5,x", "a.csv', line 503: column 'id' has no value"),
    ],
)
def test_a_bad_line_is_named(tmp_path, line, message):
    lines = ["id,price,name", *LINES.splitlines()]
    lines.insert(502, line)
    (tmp_path / "a.csv").write_text("\n".join(lines))
    types = {"id": "int64", "price": "float32", "name": "string"}
    with pytest.raises((tf.errors.OpError, errors.PersiaError), match=message):
        list(ptf.data.csv(tmp_path / "a.csv", 64, types=types))


def test_text_files_with_other_columns_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,price\n1,2\n")
    (tmp_path / "b.csv").write_text("id,prize\n1,2\n")
    with pytest.raises(errors.InvalidArgumentError, match=r"b.csv.*lacks \['price'\]"):
        ptf.data.csv(tmp_path, 64)
    with pytest.raises(errors.InvalidArgumentError, match="a.csv' has no column 'x'"):
        ptf.data.csv(tmp_path / "a.csv", 64, columns=["x"])


def test_ads_of_criteo(tmp_path):
    counts = [str(i) if i != 3 else "" for i in range(13)]
    strings = [f"{i:08x}" if i != 4 else "" for i in range(26)]
    (tmp_path / "day").write_text("\t".join(["1", *counts, *strings]) + "\n")
    [(features, labels)] = list(ptf.data.criteo(tmp_path / "day", 8))
    assert labels.numpy() == [1.0]
    found = [int(features[f"I{i + 1}"][0]) for i in range(13)]
    assert found == [i if i != 3 else 0 for i in range(13)]
    found = [features[f"C{i + 1}"][0].numpy().decode() for i in range(26)]
    assert found == strings


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_records(tmp_path, compression):
    def example(i):
        feature = {
            "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
            "items": tf.train.Feature(
                int64_list=tf.train.Int64List(value=[i] * (i % 3))
            ),
        }
        return tf.train.Example(features=tf.train.Features(feature=feature))

    for part in range(2):
        path = str(tmp_path / f"{part}.tfrecord")
        with tf.io.TFRecordWriter(path, compression or "") as writer:
            for i in range(part * 100, part * 100 + 100):
                writer.write(example(i).SerializeToString())
    features = {
        "id": tf.io.FixedLenFeature([], tf.int64),
        "items": tf.io.RaggedFeature(tf.int64),
    }
    dataset = ptf.data.tfrecord(
        tmp_path, 32, features, compression=compression, shuffle_buffer=100
    )
    batches = list(dataset)
    found = np.concatenate([batch["id"].numpy() for batch in batches])
    assert sorted(found) == list(range(200))
    assert batches[0]["items"].row_lengths().numpy().tolist() == list(found[:32] % 3)
    path = tmp_path / "0.tfrecord"
    whole = path.read_bytes()
    if compression is None:
        path.write_bytes(whole[:-3])
        with pytest.raises(tf.errors.OpError, match="0.tfrecord"):
            list(ptf.data.tfrecord(path, 32, features))
