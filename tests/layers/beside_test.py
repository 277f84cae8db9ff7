"""Rows that are too many for a file are in a checkpoint beside it."""

import os

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(-1000, 1000, (64, 3))
ROW_BYTES = 8 + 4 * (4 + 4)  # An id, its vector, and Adagrad's state.


@pytest.fixture
def make_cluster(start_shards, tmp_path):
    def make(count=2, **options):
        shards = start_shards(count, checkpoint_root=str(tmp_path))
        addresses = [shard.address for shard in shards]
        return ptf.Cluster(addresses, timeout=20, staleness=0, **options)

    return make


@pytest.fixture
def small(make_cluster):
    """A cluster whose files hold a hundred rows."""
    return make_cluster(archive_limit=100 * ROW_BYTES, checkpoint_root="run")


def make_model(tables, cluster):
    inputs = keras.Input((3,), dtype="int64")
    pools = [
        ptf.layers.PersiaEmbedding(4, table=table, combiner="sum", cluster=cluster)(
            inputs
        )
        for table in tables
    ]
    outputs = keras.layers.Dense(1)(keras.layers.Concatenate()(pools))
    model = keras.Model(inputs, outputs)
    model.compile("adam", "mse")
    return model


def train(model):
    model.fit(IDS, np.ones((64, 1)), batch_size=16, verbose=0)
    return model


@pytest.fixture
def tables(table):
    return [f"{table}_{name}" for name in "abc"]


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "m.keras")


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for row_id, row in expected.items():
        np.testing.assert_array_equal(found[row_id], row)


def checkpoints(tmp_path):
    return sorted(os.listdir(tmp_path / "run" / "models"))


def test_layers_that_are_saved_together_share_a_checkpoint(
    tables, small, make_cluster, file, tmp_path, rows_of, caplog
):
    train(make_model(tables, small)).save(file)
    assert checkpoints(tmp_path) == ["ckpt-00000001"]
    assert os.path.getsize(file) < 100_000
    other = make_cluster(3)
    with caplog.at_level("WARNING", logger="absl"), ptf.use_cluster(other):
        keras.models.load_model(file)
    assert caplog.text.count("restored checkpoint run/models/ckpt-00000001") == 1
    for table in tables:
        assert len(rows_of(table, small)) > 100
        assert_same(rows_of(table, other), rows_of(table, small))


def change_by_training(model, tables, cluster):
    train(model)


def change_by_assigning(model, tables, cluster):
    ptf.Table(tables[0], cluster).assign([int(IDS[0, 0])], [[7] * 4])


def change_by_restoring(model, tables, cluster):
    ptf.checkpoint.restore("run/models/ckpt-00000001", cluster=cluster)


@pytest.mark.parametrize(
    "change", [change_by_training, change_by_assigning, change_by_restoring]
)
def test_rows_that_changed_are_saved_and_loaded_anew(
    change, tables, small, file, tmp_path, rows_of
):
    model = train(make_model(tables, small))
    model.save(file)
    before = rows_of(tables[0], small)
    change(model, tables, small)
    after = rows_of(tables[0], small)
    model.save(file + ".keras")
    assert checkpoints(tmp_path) == ["ckpt-00000001", "ckpt-00000002"]
    keras.models.load_model(file)
    assert_same(rows_of(tables[0], small), before)
    keras.models.load_model(file + ".keras")
    assert_same(rows_of(tables[0], small), after)


def test_nothing_is_removed_that_a_file_refers_to(tables, small, file, rows_of):
    model = train(make_model(tables, small))
    model.save(file)
    expected = rows_of(tables[0], small)
    for _ in range(3):
        train(model)
        ptf.checkpoint.save("run", cluster=small, max_to_keep=1)
        model.save(file + ".keras")
    keras.models.load_model(file)
    assert_same(rows_of(tables[0], small), expected)


def test_small_tables_are_in_the_file(tables, make_cluster, file, tmp_path):
    limited = make_cluster(archive_limit="1MB", checkpoint_root="run")
    train(make_model(tables, limited)).save(file)
    assert not (tmp_path / "run").exists()


def test_without_a_folder_the_save_says_what_to_do(tables, make_cluster, file):
    limited = make_cluster(archive_limit=100 * ROW_BYTES)
    model = train(make_model(tables[:1], limited))
    size = len(ptf.Table(tables[0], limited)) * ROW_BYTES
    with pytest.raises(
        errors.FailedPreconditionError,
        match=rf"'{tables[0]}' has {size} bytes.*more than the 4000.*checkpoint_root",
    ):
        model.save(file)
    with ptf.rows_stay():
        model.save(file)


def test_a_checkpoint_that_is_gone_is_named(tables, small, file, tmp_path):
    model = train(make_model(tables, small))
    model.save(file)
    train(model)
    (tmp_path / "run").rename(tmp_path / "moved")
    with pytest.raises(Exception, match="ckpt-00000001', which is not there"):
        keras.models.load_model(file)


def test_another_checkpoint_in_its_place_is_refused(tables, small, file, tmp_path):
    model = train(make_model(tables, small))
    model.save(file)
    (tmp_path / "run").rename(tmp_path / "moved")
    train(model).save(file + ".keras")
    with pytest.raises(Exception, match="but another one lies there now"):
        keras.models.load_model(file)


def test_rows_of_this_process_are_saved_beside_a_file_too(
    tables, file, tmp_path, rows_of
):
    folder = str(tmp_path / "run")
    cluster = ptf.Cluster.embedded(archive_limit=0, checkpoint_root=folder)
    model = train(make_model(tables, cluster))
    model.save(file)
    expected = rows_of(tables[0], cluster)
    train(model)
    keras.models.load_model(file)
    assert_same(rows_of(tables[0], cluster), expected)


@pytest.mark.parametrize(
    ("limit", "error"), [("1", ValueError), (-1, ValueError), (1.5, TypeError)]
)
def test_limits_that_are_no_number_of_bytes_are_refused(limit, error):
    with pytest.raises(error, match="`archive_limit`"):
        ptf.Cluster.embedded(archive_limit=limit)
