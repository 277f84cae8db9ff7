"""Callbacks for which only the chief writes files; this process is another worker."""

import inspect
import os

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

if not IS_KERAS_3:
    pytest.skip("tf_keras sees to it itself", allow_module_level=True)

from persia_tf.layers.workers import Workers

IDS = np.arange(60).reshape(20, 3)


@pytest.fixture
def fit(table):
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(2, table=table, combiner="sum")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("adam", "mse")

    def fit(*callbacks, epochs=2):
        options = {"batch_size": 5, "epochs": epochs, "verbose": 0}
        return model.fit(IDS, np.ones((20, 1)), callbacks=[*callbacks], **options)

    fit.model = model
    return fit


@pytest.fixture(params=["epoch", 3])
def save_freq(request):
    return request.param


@pytest.fixture
def is_another_worker(monkeypatch):
    monkeypatch.setattr(Workers, "is_chief", False)


def test_another_worker_leaves_no_checkpoint(
    fit, save_freq, tmp_path, is_another_worker
):
    path = str(tmp_path / "{epoch}.keras")
    saving = ptf.callbacks.ModelCheckpoint(path, save_freq=save_freq)
    fit(saving)
    assert os.listdir(tmp_path) == []
    assert os.listdir(os.path.dirname(saving.filepath)) == []


def test_another_worker_restores_what_the_chief_backed_up(
    fit, save_freq, tmp_path, monkeypatch
):
    folder = str(tmp_path / "backup")
    options = {"save_freq": save_freq, "delete_checkpoint": False}
    fit(ptf.callbacks.BackupAndRestore(folder, **options))
    files = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(folder)}
    assert files
    monkeypatch.setattr(Workers, "is_chief", False)
    history = fit(ptf.callbacks.BackupAndRestore(folder, delete_checkpoint=True))
    assert len(history.history.get("loss", [])) < 2
    after = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(folder)}
    assert after == files


class Failing:
    """Replaces the way in which a layer stores itself, as if the disk were full."""

    def __init__(self, store_own):
        self.store_own = store_own

    def __call__(self, store):
        self.store_own(store)
        raise OSError("no space is left")


def fail_to_save(fit, monkeypatch):
    layer = fit.model.layers[-1]
    failing = Failing(layer.save_own_variables)
    monkeypatch.setattr(layer, "save_own_variables", failing, raising=False)


def files_of(folder):
    return {
        entry.name: (folder / entry.name).read_bytes() for entry in os.scandir(folder)
    }


def test_a_backup_that_fails_leaves_the_one_before(
    fit, save_freq, tmp_path, monkeypatch
):
    options = {"save_freq": save_freq, "delete_checkpoint": False}
    fit(ptf.callbacks.BackupAndRestore(str(tmp_path), **options))
    before = files_of(tmp_path)
    saving = ptf.callbacks.BackupAndRestore(str(tmp_path), **options)
    fail_to_save(fit, monkeypatch)
    with pytest.raises(OSError, match="no space is left"):
        fit(saving, epochs=4)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("name", ["m.keras", "m.weights.h5"])
def test_a_checkpoint_that_fails_leaves_the_one_before(
    name, fit, save_freq, tmp_path, monkeypatch
):
    options = {"save_freq": save_freq, "save_weights_only": "weights" in name}
    path = str(tmp_path / name)
    fit(ptf.callbacks.ModelCheckpoint(path, **options))
    before = files_of(tmp_path)
    assert [*before] == [name]
    fail_to_save(fit, monkeypatch)
    with pytest.raises(OSError, match="no space is left"):
        fit(ptf.callbacks.ModelCheckpoint(path, **options))
    assert files_of(tmp_path) == before


KEEPS_TWO = pytest.mark.skipif(
    "double_checkpoint"
    not in inspect.signature(keras.callbacks.BackupAndRestore).parameters,
    reason="an earlier Keras, which keeps one backup",
)


def damage(file):
    file.write_bytes(file.read_bytes()[:100])


@KEEPS_TWO
def test_the_chief_repairs_a_damaged_backup_before_any_worker_reads_it(
    fit, tmp_path, monkeypatch
):
    options = {"double_checkpoint": True, "delete_checkpoint": False}
    fit(ptf.callbacks.BackupAndRestore(str(tmp_path), **options))
    damage(tmp_path / "latest.weights.h5")
    monkeypatch.setattr(Workers, "has_others", True)
    monkeypatch.setattr(keras.Model, "load_weights", refuse)
    restoring = ptf.callbacks.BackupAndRestore(str(tmp_path), **options)
    restoring.set_model(fit.model)
    with pytest.raises(AssertionError, match="is read"):
        restoring.on_train_begin()
    files = files_of(tmp_path)
    assert files["latest.weights.h5"] == files["latest.weights.h5.bkp"]


def refuse(self, filepath, **options):
    raise AssertionError(f"{filepath} is read")


@KEEPS_TWO
def test_another_worker_repairs_no_backup(fit, tmp_path, monkeypatch):
    options = {"double_checkpoint": True, "delete_checkpoint": False}
    fit(ptf.callbacks.BackupAndRestore(str(tmp_path), **options))
    damage(tmp_path / "latest.weights.h5")
    before = files_of(tmp_path)

    def together(self, action):
        action()
        raise AssertionError("the chief is waited for")

    monkeypatch.setattr(Workers, "has_others", True)
    monkeypatch.setattr(Workers, "is_chief", False)
    monkeypatch.setattr(Workers, "together", together)
    with pytest.raises(AssertionError, match="the chief is waited for"):
        fit(ptf.callbacks.BackupAndRestore(str(tmp_path), **options))
    assert files_of(tmp_path) == before


def test_the_chief_keeps_its_files(fit, save_freq, tmp_path):
    path = str(tmp_path / "{epoch}.keras")
    fit(ptf.callbacks.ModelCheckpoint(path, save_freq=save_freq))
    assert sorted(os.listdir(tmp_path)) == ["1.keras", "2.keras"]
