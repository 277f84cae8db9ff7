"""`ptf.callbacks.EarlyStopping` restores rows too: those of the best epoch."""

import os

import numpy as np
import pytest
import tensorflow as tf
from training import assert_same_rows

import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.layers.workers import Workers

RNG = np.random.default_rng(0)
IDS = RNG.integers(0, 60, (64, 3))
LABELS = RNG.integers(0, 2, (64, 1)).astype("float32")
VALID = (RNG.integers(0, 60, (64, 3)), RNG.integers(0, 2, (64, 1)).astype("float32"))


def make_model(tables, cluster):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    optimizer = ptf.optimizers.Adam(0.05)
    options = {"combiner": "sum", "cluster": cluster, "optimizer": optimizer}
    pools = [
        ptf.layers.PersiaEmbedding(4, table=table, **options)(inputs)
        for table in tables
    ]
    both = keras.layers.Concatenate()(pools) if len(pools) > 1 else pools[0]
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(both))
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    return model


class Best(keras.callbacks.Callback):
    """Keeps the rows of the best epoch."""

    def __init__(self, read, score="val_loss"):
        super().__init__()
        self.read, self.score = read, score
        self.best, self.rows = np.inf, None

    def on_epoch_end(self, epoch, logs=None):
        if logs[self.score] < self.best:
            self.best, self.rows = logs[self.score], self.read()


def stopping(**options):
    options = {"patience": 2, "restore_best_weights": True, **options}
    return ptf.callbacks.EarlyStopping(**options)


def fit(model, *callbacks, data=(IDS, LABELS), **options):
    """Trains so long that the model overfits, and an early epoch is the best."""
    options = {"epochs": 9, "verbose": 0, "validation_data": VALID, **options}
    if isinstance(data, tuple):
        return model.fit(*data, batch_size=16, callbacks=[*callbacks], **options)
    return model.fit(data, callbacks=[*callbacks], **options)


def loss(model):
    return model.evaluate(*VALID, verbose=0, batch_size=32)


@pytest.fixture
def tables(table):
    return [f"{table}_{name}" for name in "ab"]


def test_the_model_is_that_of_the_best_epoch(tables, cluster, rows_of):
    model = make_model(tables, cluster)
    best = Best(lambda: [rows_of(table, cluster) for table in tables])
    ran = fit(model, stopping(), best)
    losses = ran.history["val_loss"]
    assert 3 <= len(losses) < 9 and losses[-1] > best.best * 1.01
    np.testing.assert_allclose(loss(model), best.best, rtol=1e-5)
    for table, rows in zip(tables, best.rows):
        assert_same_rows(rows_of(table, cluster), rows)


def test_rows_that_were_made_later_are_removed(tables, shards, rows_of):
    class NewIds(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            rows = ptf.Table(tables[0], shards)
            rows.assign([1000 + epoch], np.ones((1, 4)))

    best = Best(lambda: rows_of(tables[0], shards))
    model = make_model(tables, shards)
    fit(model, stopping(), best, NewIds())
    assert_same_rows(rows_of(tables[0], shards), best.rows)


def test_it_is_so_too_where_training_was_not_stopped(tables, shards):
    model = make_model(tables, shards)
    ran = fit(model, stopping(patience=100), epochs=6)
    np.testing.assert_allclose(loss(model), min(ran.history["val_loss"]), rtol=1e-5)


def test_keras_itself_takes_back_a_model_that_never_was(table, cluster, caplog):
    model = make_model([table], cluster)
    keras_own = keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)
    with caplog.at_level("WARNING", logger="absl"):
        ran = fit(model, keras_own)
    assert loss(model) > min(ran.history["val_loss"]) * 1.01
    assert caplog.text.count("EarlyStopping, which takes the same") == 1
    assert "handles only the dense weights" not in caplog.text


def test_nothing_is_told_of_where_rows_are_taken_back(table, shards, caplog):
    with caplog.at_level("WARNING", logger="absl"):
        fit(make_model([table], shards), stopping())
    assert caplog.text == ""


def test_without_restoring_it_is_the_one_of_keras(table, shards, monkeypatch):
    monkeypatch.setattr(ptf.Table, "export", None)
    model = make_model([table], shards)
    ran = fit(model, stopping(restore_best_weights=False))
    losses = ran.history["val_loss"]
    np.testing.assert_allclose(loss(model), losses[-1], rtol=1e-5)
    assert len(losses) < 9


def test_rows_may_stay_as_they_are(table, shards):
    model = make_model([table], shards)
    with ptf.rows_stay():
        ran = fit(model, stopping())
    assert loss(model) > min(ran.history["val_loss"]) * 1.01


def test_frozen_rows_are_left_as_others_make_them(tables, shards, rows_of):
    model = make_model(tables, shards)
    fit(model, epochs=1)
    model.layers[1].trainable = False
    model.compile("adam", "binary_crossentropy")
    others = ptf.Table(tables[0], shards)

    class Others(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            others.assign([1000 + epoch], np.ones((1, 4)))

    ran = fit(model, stopping(), Others())
    last = 1000 + len(ran.history["loss"]) - 1
    np.testing.assert_array_equal(others.lookup([last]), np.ones((1, 4)))


@pytest.mark.parametrize("repeated", [False, True])
def test_batches_that_were_looked_up_ahead_do_not_matter(
    repeated, tables, start_shards
):
    addresses = [shard.address for shard in start_shards(2)]
    cluster = ptf.Cluster(addresses, timeout=20)
    model = make_model(tables, cluster)
    data = tf.data.Dataset.from_tensor_slices((IDS, LABELS)).batch(16)
    if repeated:
        data = data.repeat()
    ahead = ptf.data.prefetch(data, model, staleness=4)
    steps = {"steps_per_epoch": 4} if repeated else {}
    ran = fit(model, stopping(), data=ahead, **steps)
    np.testing.assert_allclose(loss(model), min(ran.history["val_loss"]), rtol=1e-5)
    fit(model, data=ahead, epochs=1, **steps)  # Training can go on from there.


def test_it_can_be_used_again(tables, shards):
    callback = stopping(patience=1)
    for _ in range(2):
        model = make_model(tables, shards)
        ran = fit(model, callback)
        np.testing.assert_allclose(loss(model), min(ran.history["val_loss"]), rtol=1e-5)


def test_nothing_is_left_of_what_it_kept(tables, shards, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(sum(len(files) for _, _, files in os.walk(tmp_path)))

    fit(make_model(tables, shards), stopping(), Look())
    assert set(seen) == {2}  # One file per table, however many epochs were best.
    assert os.listdir(tmp_path) == []


def test_large_tables_are_kept_in_a_checkpoint(
    tables, start_shards, tmp_path, rows_of, caplog
):
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster(
        [shard.address for shard in shards],
        timeout=20,
        staleness=0,
        archive_limit=1000,
        checkpoint_root="run",
    )
    model = make_model(tables, cluster)
    best = Best(lambda: [rows_of(table, cluster) for table in tables])
    folder = tmp_path / "run" / "best"
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(len(os.listdir(folder)))

    with caplog.at_level("WARNING", logger="absl"):
        fit(model, stopping(), best, Look())
    assert set(seen) == {1}
    assert os.listdir(folder) == []
    assert "also the tables of other models" in caplog.text
    np.testing.assert_allclose(loss(model), best.best, rtol=1e-5)
    for table, rows in zip(tables, best.rows):
        assert_same_rows(rows_of(table, cluster), rows)


def test_large_tables_without_a_folder_for_checkpoints_are_kept_all_the_same(
    table, start_shards
):
    addresses = [shard.address for shard in start_shards(2)]
    model = make_model([table], ptf.Cluster(addresses, timeout=20, archive_limit=1000))
    ran = fit(model, stopping())
    np.testing.assert_allclose(loss(model), min(ran.history["val_loss"]), rtol=1e-5)


def test_another_worker_than_the_chief_writes_nothing(table, shards, monkeypatch):
    model = make_model([table], shards)
    fit(model, epochs=1)
    monkeypatch.setattr(Workers, "is_chief", False)
    for name in ("export", "write", "remove"):
        monkeypatch.setattr(ptf.Table, name, None)
    fit(model, stopping(patience=1), epochs=3)
