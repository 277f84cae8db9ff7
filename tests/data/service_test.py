"""A dataset that data workers make: the same batches, and where a job is in them."""

import sys

import numpy as np
import pytest
import tensorflow as tf
from harness import ShardProcess

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.base.addresses import DATA_VARIABLE
from persia_tf.data.remote import units
from persia_tf.data.remote.in_order import InOrder

pa = pytest.importorskip("pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1500
BATCH = 32
# No data worker is ever there.
NOWHERE = "127.0.0.1:9"
DATA = (sys.executable, "-m", "persia_tf.commands.main", "data")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The dispatcher of two data workers."""
    folder = tmp_path_factory.mktemp("servers")
    dispatcher = ShardProcess(folder / "dispatcher", [*DATA, "dispatcher"])
    started = [dispatcher]
    try:
        dispatcher.start()
        for name in ("a", "b"):
            options = ["worker", f"--dispatcher={dispatcher.address}"]
            worker = ShardProcess(folder / name, [*DATA, *options])
            started.append(worker)
            worker.start()
        yield dispatcher.address
    finally:
        for process in started:
            process.end()


@pytest.fixture
def folder(tmp_path):
    for number in range(2):
        ids = np.arange(ROWS // 2) + number * ROWS // 2
        columns = {"id": ids, "word": [f"w{i}" for i in ids]}
        table = pa.table(columns)
        pa_csv.write_csv(table, tmp_path / f"{number}.csv")
        table = table.append_column("list", pa.array([[i] * (i % 3) for i in ids]))
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=10)
        examples = [
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "id": tf.train.Feature(
                            int64_list=tf.train.Int64List(value=[i])
                        ),
                        "word": tf.train.Feature(
                            bytes_list=tf.train.BytesList(value=[b"w%d" % i])
                        ),
                    }
                )
            ).SerializeToString()
            for i in ids.tolist()
        ]
        with tf.io.TFRecordWriter(str(tmp_path / f"{number}.tfrecord")) as writer:
            for example in examples:
                writer.write(example)
    return tmp_path


def reader(folder, kind="parquet", **options):
    arguments = [folder / f"*.{kind}", BATCH]
    if kind == "tfrecord":
        features = {
            "id": tf.io.FixedLenFeature([], tf.int64),
            "word": tf.io.FixedLenFeature([], tf.string),
        }
        arguments = [str(folder / "*.tfrecord"), BATCH, features]
    return getattr(ptf.data, kind)(*arguments, shuffle_buffer=200, **options)


def prepared(batch):
    return {**batch, "hash": tf.strings.to_hash_bucket_fast(batch["word"], 1000)}


def flat(element):
    return [
        each.numpy().tolist()
        for each in tf.nest.flatten(element, expand_composites=True)
    ]


@pytest.mark.parametrize("kind", ["parquet", "csv", "tfrecord"])
@pytest.mark.parametrize("has_workers", [True, False])
def test_batches_are_those_of_the_reader(
    folder, address, kind, has_workers, monkeypatch
):
    expected = reader(folder, kind).map(prepared)
    at = {"address": NOWHERE, "patience": 0.1}
    if has_workers:
        at = {"address": address, "patience": 300.0}
    read_here = []
    read_here_from = InOrder._read_here_from

    def counted(self, batch, end):
        read_here.append(batch)
        read_here_from(self, batch, end)

    monkeypatch.setattr(InOrder, "_read_here_from", counted)
    served = ptf.data.service(reader(folder, kind), prepared, **at)
    assert served.element_spec == expected.element_spec
    assert served.cardinality().numpy() == -(-ROWS // BATCH)
    for _ in range(2):  # Each epoch has an order of its own.
        assert list(map(flat, served)) == list(map(flat, expected))
    # A worker that has just started may be overtaken, so that a unit of it seems lost.
    samples = served.persia_source.batches._samples
    count = len(units.firsts_of_units(samples, 0))
    assert len(read_here) < count if has_workers else len(read_here) == 2 * count


@pytest.mark.parametrize("batches", [0, 1, 7, 46])
@pytest.mark.parametrize("resumes_with_service", [True, False])
def test_reading_goes_on_at_the_next_sample(
    folder, address, batches, resumes_with_service
):
    undisturbed = reader(folder)
    epochs = [list(map(flat, undisturbed)) for _ in range(2)]
    begun = ptf.data.service(reader(folder), address=address)
    for _, _batch in zip(range(batches), begun):
        pass
    position = list(begun.persia_source.position_after(batches))
    resumed = reader(folder)
    if resumes_with_service:
        resumed = ptf.data.service(resumed, address=address)
    resumed.persia_source.seek(position)
    assert list(map(flat, resumed)) == epochs[0][batches:]
    assert list(map(flat, resumed)) == epochs[1]


def test_programs_that_train_together_read_other_batches(folder, address):
    whole = list(map(flat, reader(folder)))
    for number in range(3):
        own = ptf.data.service(reader(folder, shard=(number, 3)), address=address)
        assert list(map(flat, own)) == whole[15 * number :][:15]


def test_labels_and_tuples_are_mapped(folder, address):
    served = ptf.data.service(
        reader(folder, label="id"), lambda x, y: (x["word"], -y), address=address
    )
    words, labels = next(iter(served))
    assert [int(word[1:]) for word in words.numpy()] == (-labels.numpy()).tolist()


def test_vocabularies_go_to_data_workers(folder, address):
    words = keras.layers.StringLookup(vocabulary=[f"w{i}" for i in range(ROWS)])
    served = ptf.data.service(
        reader(folder), lambda x: (x["id"], words(x["word"])), address=address
    )
    for ids, numbers in served:
        assert (numbers.numpy() == ids.numpy() + 1).all()


def test_python_functions_are_refused(folder, address):
    def double(batch):
        return tf.numpy_function(lambda x: 2 * x, [batch["id"]], tf.int64)

    with pytest.raises(ValueError, match="`map_func` must not call Python"):
        ptf.data.service(reader(folder), double, address=address)


def test_what_data_workers_cannot_read_is_refused(folder, address):
    at = {"address": address}
    with pytest.raises(ValueError, match="before any `map` or other stage"):
        ptf.data.service(reader(folder).map(prepared), **at)
    with pytest.raises(ValueError, match="is theirs already"):
        ptf.data.service(ptf.data.service(reader(folder), **at), **at)


def test_other_datasets_are_divided(address):
    dataset = ptf.data.service(
        tf.data.Dataset.range(20), lambda x: 2 * x, address=address
    )
    assert sorted(dataset.as_numpy_iterator()) == list(range(0, 40, 2))


def test_an_error_of_the_files_is_named(folder, address):
    served = ptf.data.service(reader(folder), address=address)
    (folder / "1.parquet").unlink()
    with pytest.raises(tf.errors.OpError, match=r"there is no file '.*1\.parquet'"):
        list(served)


def test_the_address_is_found_in_the_environment(folder, address, monkeypatch):
    monkeypatch.delenv(DATA_VARIABLE, raising=False)
    with pytest.raises(errors.InvalidArgumentError, match="--data-workers"):
        ptf.data.service(reader(folder))
    monkeypatch.setenv(DATA_VARIABLE, address)
    assert len(list(ptf.data.service(reader(folder)))) == -(-ROWS // BATCH)


def test_arguments_that_do_not_fit(folder):
    with pytest.raises(TypeError, match="`dataset` must be a tf.data.Dataset"):
        ptf.data.service([1, 2], address=NOWHERE)
    with pytest.raises(ValueError, match="`patience` must be"):
        ptf.data.service(reader(folder), address=NOWHERE, patience=0)
    with pytest.raises(errors.InvalidArgumentError, match="host:port"):
        ptf.data.service(reader(folder), address="nowhere")
