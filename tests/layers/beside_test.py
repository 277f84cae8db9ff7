"""Rows that are too many for a model's file are saved in a checkpoint next to it."""

import os

import numpy as np
import pytest
from training import assert_same_rows

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras

IDS = np.random.default_rng(0).integers(-1000, 1000, (64, 3))
ROW_BYTES = 8 + 4 * (4 + 2 * 4 + 3)  # An id, its vector, and Adam's state.


@pytest.fixture
def make_cluster(start_shards, tmp_path):
    def make(count=2, **options):
        shards = start_shards(count, checkpoint_root=str(tmp_path))
        addresses = [shard.address for shard in shards]
        return ptf.Cluster(addresses, timeout=20, staleness=0, **options)

    return make


@pytest.fixture
def small(make_cluster):
    """A cluster whose model files may hold a hundred rows."""
    return make_cluster(archive_limit=100 * ROW_BYTES, checkpoint_root="run")


def make_model(tables, cluster, **options):
    inputs = keras.Input((3,), dtype="int64")
    options = {"combiner": "sum", "cluster": cluster, **options}
    pools = [
        ptf.layers.PersiaEmbedding(4, table=table, **options)(inputs)
        for table in tables
    ]
    both = keras.layers.Concatenate()(pools) if len(pools) > 1 else pools[0]
    outputs = keras.layers.Dense(1)(both)
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
        assert_same_rows(rows_of(table, other), rows_of(table, small))


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
    assert_same_rows(rows_of(tables[0], small), before)
    keras.models.load_model(file + ".keras")
    assert_same_rows(rows_of(tables[0], small), after)


def variant(cluster, **options):
    """The same shards with other options."""
    return ptf.Cluster.from_config({**cluster.get_config(), **options})


@pytest.fixture
def train_meanwhile(small, table, monkeypatch):
    """Lets another program train right after a checkpoint is saved or restored."""
    other = make_model([table], variant(small, timeout=21))

    def during(name):
        action = getattr(ptf.checkpoint, name)

        def act(*args, **options):
            result = action(*args, **options)
            train(other)
            other.layers[1].cluster.flush()
            return result

        monkeypatch.setattr(ptf.checkpoint, name, act)

    return during


def test_rows_that_change_during_a_save_are_saved_by_the_next(
    table, small, file, tmp_path, train_meanwhile
):
    model = train(make_model([table], small))
    train_meanwhile("save")
    model.save(file)
    model.save(file)
    assert checkpoints(tmp_path) == ["ckpt-00000001", "ckpt-00000002"]


def test_rows_that_change_during_a_restore_are_restored_again(
    table, small, file, monkeypatch, rows_of, train_meanwhile
):
    model = train(make_model([table], small))
    model.save(file)
    expected = rows_of(table, small)
    train(model)
    restore = ptf.checkpoint.restore
    train_meanwhile("restore")
    keras.models.load_model(file)
    monkeypatch.setattr(ptf.checkpoint, "restore", restore)
    keras.models.load_model(file)
    assert_same_rows(rows_of(table, small), expected)


def test_each_folder_gets_its_checkpoints(table, small, file, tmp_path):
    other = variant(small, checkpoint_root="other")
    assert other.session is small.session
    models = [make_model([table], cluster) for cluster in (small, other)]
    train(models[0])
    for model in models * 2:
        model.save(file)
    for folder in ("run", "other"):
        assert os.listdir(tmp_path / folder / "models") == ["ckpt-00000001"]


def test_nothing_is_removed_that_a_file_refers_to(tables, small, file, rows_of):
    model = train(make_model(tables, small))
    model.save(file)
    expected = rows_of(tables[0], small)
    for _ in range(3):
        train(model)
        ptf.checkpoint.save("run", cluster=small, max_to_keep=1)
        model.save(file + ".keras")
    keras.models.load_model(file)
    assert_same_rows(rows_of(tables[0], small), expected)


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
        match=rf"'{tables[0]}' has {size} bytes.*"
        rf"more than the limit of {100 * ROW_BYTES}.*checkpoint_root",
    ):
        model.save(file)
    with ptf.rows_stay():
        model.save(file)


def test_a_checkpoint_that_is_gone_is_named(tables, small, file, tmp_path):
    model = train(make_model(tables, small))
    model.save(file)
    train(model)
    (tmp_path / "run").rename(tmp_path / "moved")
    with pytest.raises(Exception, match="ckpt-00000001', which does not exist"):
        keras.models.load_model(file)


def test_another_checkpoint_in_its_place_is_refused(tables, small, file, tmp_path):
    model = train(make_model(tables, small))
    model.save(file)
    (tmp_path / "run").rename(tmp_path / "moved")
    train(model).save(file + ".keras")
    with pytest.raises(Exception, match="folder now holds another"):
        keras.models.load_model(file)


def assert_refused_unchanged(load, cluster, tables, rows_of):
    """Loading raises, and each row stays as it is."""
    before = [rows_of(table, cluster) for table in tables]
    with pytest.raises(ValueError, match="has them under the name"):
        load()
    for table, expected in zip(tables, before):
        assert_same_rows(rows_of(table, cluster), expected)


def test_a_checkpoint_of_another_table_is_refused(tables, small, tmp_path, rows_of):
    path = str(tmp_path / "m.weights.h5")
    model = train(make_model(tables[:1], small))
    model.save_weights(path)
    other = train(make_model(tables[1:2], small))
    train(model)
    assert_refused_unchanged(
        lambda: other.load_weights(path), small, tables[:2], rows_of
    )


def test_a_checkpoint_of_another_namespace_is_refused(table, small, file, rows_of):
    model = train(make_model([table], small))
    model.save(file)
    train(model)

    def load():
        with ptf.use_cluster(variant(small, namespace="new")):
            keras.models.load_model(file)

    assert_refused_unchanged(load, small, [table], rows_of)


def test_rows_beyond_the_capacity_are_told_of(
    table, small, make_cluster, tmp_path, caplog
):
    path = str(tmp_path / "m.weights.h5")
    train(make_model([table], small)).save_weights(path)
    count = len(ptf.Table(table, small))
    other = make_cluster(checkpoint_root="run")
    loading = make_model([table], other, capacity=60)
    with caplog.at_level("WARNING", logger="absl"):
        loading.load_weights(path)
    held = len(ptf.Table(table, other))
    assert held < count
    assert f"holds only {held} of the {count} saved rows" in caplog.text


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
    assert_same_rows(rows_of(tables[0], cluster), expected)


@pytest.mark.parametrize(
    ("limit", "error"), [("1", ValueError), (-1, ValueError), (1.5, TypeError)]
)
def test_limits_that_are_no_number_of_bytes_are_refused(limit, error):
    with pytest.raises(error, match="`archive_limit`"):
        ptf.Cluster.embedded(archive_limit=limit)
