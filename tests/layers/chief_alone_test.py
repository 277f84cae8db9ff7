"""Callbacks of which the chief alone writes files: here as another worker."""

import os

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

if not IS_KERAS_3:
    pytest.skip("tf_keras sees to it itself", allow_module_level=True)

from persia_tf.callbacks import chief_alone

IDS = np.arange(60).reshape(20, 3)


@pytest.fixture
def fit(table):
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(2, table=table, combiner="sum")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    model.compile("adam", "mse")

    def fit(*callbacks):
        options = {"batch_size": 5, "epochs": 2, "verbose": 0}
        return model.fit(IDS, np.ones((20, 1)), callbacks=[*callbacks], **options)

    return fit


@pytest.fixture(params=["epoch", 3])
def save_freq(request):
    return request.param


@pytest.fixture
def is_another_worker(monkeypatch):
    monkeypatch.setattr(chief_alone, "_is_chief", lambda model: False)


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
    monkeypatch.setattr(chief_alone, "_is_chief", lambda model: False)
    history = fit(ptf.callbacks.BackupAndRestore(folder, delete_checkpoint=True))
    assert len(history.history.get("loss", [])) < 2
    after = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(folder)}
    assert after == files


def test_the_chief_keeps_its_files(fit, save_freq, tmp_path):
    path = str(tmp_path / "{epoch}.keras")
    fit(ptf.callbacks.ModelCheckpoint(path, save_freq=save_freq))
    assert sorted(os.listdir(tmp_path)) == ["1.keras", "2.keras"]
