"""What `ptf.callbacks.TableCheckpoint` saves, and when."""

import json
import os
import threading
import types

import numpy as np
import pytest

import persia_tf as ptf
from persia_tf import errors
from persia_tf._keras import keras
from persia_tf.callbacks import weights_files
from persia_tf.checkpoint import saving as saving_lib

IDS = np.random.default_rng(0).integers(0, 100, (40, 4))
LABELS = np.ones((40, 1))


class Run:
    """A model with a table on two shards, which saves below a folder."""

    def __init__(self, cluster, table, folder):
        self.cluster = cluster
        self.weights_folder = folder / "weights"
        self.path = folder / "run"
        self.table = ptf.Table(table, cluster)
        inputs = keras.Input(shape=(4,), dtype="int64")
        layer = ptf.layers.PersiaEmbedding(
            2, table=table, combiner="sum", cluster=cluster
        )
        outputs = keras.layers.Dense(1)(layer(inputs))
        self.model = keras.Model(inputs, outputs)
        self.model.compile("adam", "mse")

    def saving(self, **options):
        return ptf.callbacks.TableCheckpoint(self.path, cluster=self.cluster, **options)

    def fit(self, *callbacks, **options):
        self.model.fit(
            IDS, LABELS, batch_size=4, verbose=0, callbacks=list(callbacks), **options
        )

    def state(self):
        """Rows and dense weights."""
        rows = {
            int(one): tuple(row)
            for page in self.table.export()
            for one, row in zip(page.ids, page.rows)
        }
        return rows, [w.tolist() for w in self.model.get_weights() if w.size]

    def folders(self):
        return sorted(os.listdir(self.path))


@pytest.fixture
def run(start_shards, table, tmp_path):
    shards = start_shards(2, checkpoint_root=str(tmp_path))
    cluster = ptf.Cluster([shard.address for shard in shards])
    return Run(cluster, table, tmp_path)


class States(keras.callbacks.Callback):
    """Keeps the state at the end of each batch or epoch."""

    def __init__(self, run, each):
        super().__init__()
        self.seen = []
        setattr(self, f"on_{each}_end", self._see)
        self._run = run

    def _see(self, index, logs=None):
        self.seen.append(self._run.state())


def test_every_epoch_is_saved(run):
    saving = run.saving()
    run.fit(saving, epochs=3)
    assert run.folders() == ["ckpt-00000001", "ckpt-00000002", "ckpt-00000003"]
    assert saving.last_saved == f"{run.path}/ckpt-00000003"


def test_a_number_of_batches_may_span_epochs(run):
    run.fit(run.saving(save_freq=4), epochs=2)  # 20 batches in all.
    assert len(run.folders()) == 5


def test_steps_per_execution_count_as_they_are(run):
    run.model.compile("adam", "mse", steps_per_execution=3)
    run.fit(run.saving(save_freq=4), epochs=1)
    # After 6 of 10 batches, and after 10.
    assert len(run.folders()) == 2


def test_rows_and_weights_are_of_one_step(run):
    states = States(run, "train_batch")
    saving = run.saving(save_freq=3, weights_folder=run.weights_folder)
    run.fit(states, saving)
    for index, step in enumerate([3, 6, 9], start=1):
        name = f"ckpt-{index:08d}"
        ptf.checkpoint.restore(run.path / name, cluster=run.cluster)
        run.model.load_weights(run.weights_folder / f"{name}.weights.h5")
        assert run.state() == states.seen[step - 1]


def test_restoring_takes_the_newest_pair(run):
    states = States(run, "epoch")
    saving = run.saving(weights_folder=run.weights_folder)
    run.fit(states, saving, epochs=2)
    run.fit(epochs=1)
    assert run.state() != states.seen[-1]
    assert saving.restore(run.model) == saving.last_saved
    assert run.state() == states.seen[-1]


def test_weights_are_kept_as_long_as_rows(run):
    run.fit(run.saving(max_to_keep=2, weights_folder=run.weights_folder), epochs=4)
    names = ["ckpt-00000003", "ckpt-00000004"]
    assert run.folders() == names
    assert sorted(os.listdir(run.weights_folder)) == [f"{n}.weights.h5" for n in names]


def parents(folder):
    """The parent of each checkpoint in the folder; None: the checkpoint is whole."""
    manifests = [
        json.loads((folder / name / "MANIFEST.json").read_text())
        for name in sorted(os.listdir(folder))
    ]
    return [parent and parent["name"] for parent in (m["parent"] for m in manifests)]


def test_every_one_of_a_chain_is_restored_with_its_weights(run):
    states = States(run, "epoch")
    saving = run.saving(
        whole_every=3, max_to_keep=None, weights_folder=run.weights_folder
    )
    run.fit(states, saving, epochs=3)
    run.fit(states, saving, epochs=2)
    assert parents(run.path) == [
        None,
        "ckpt-00000001",
        "ckpt-00000002",
        None,
        "ckpt-00000004",
    ]
    for name, state in zip(run.folders(), states.seen):
        ptf.checkpoint.restore(run.path / name, cluster=run.cluster)
        run.model.load_weights(run.weights_folder / f"{name}.weights.h5")
        assert run.state() == state


def test_what_an_increment_needs_is_kept_with_its_weights(run):
    states = States(run, "epoch")
    saving = run.saving(whole_every=3, max_to_keep=1, weights_folder=run.weights_folder)

    def kept(epochs):
        run.fit(states, saving, epochs=epochs)
        weights = [f"{name}.weights.h5" for name in run.folders()]
        assert sorted(os.listdir(run.weights_folder)) == weights
        return [int(name[-1]) for name in run.folders()]

    assert kept(epochs=3) == [1, 2, 3]
    assert kept(epochs=1) == [4]
    assert kept(epochs=1) == [4, 5]
    run.fit(epochs=1)
    assert saving.restore(run.model) == f"{run.path}/ckpt-00000005"
    assert run.state() == states.seen[-1]


def test_the_next_save_after_a_restore_is_whole(run, caplog):
    saving = run.saving(whole_every=10)
    run.fit(saving, epochs=2)
    saving.restore(run.model)
    run.fit(saving, epochs=2)
    assert parents(run.path) == [None, "ckpt-00000001", None, "ckpt-00000003"]
    assert "will be a full one" not in caplog.text


def test_a_failed_save_counts_for_none(run, monkeypatch):
    write = saving_lib.Save._write_manifest
    failures = [False, False, True, False, True, False]

    def fail_some(save):
        if failures.pop(0):
            raise errors.UnavailableError("the disk is on fire")
        return write(save)

    monkeypatch.setattr(saving_lib.Save, "_write_manifest", fail_some)
    run.fit(run.saving(whole_every=3), epochs=6)
    # After a failed increment and a failed whole save, the next save has their rows.
    assert parents(run.path) == [None, "ckpt-00000001", "ckpt-00000002", None]


def test_weights_that_are_saved_with_rows_hold_none_themselves(run, caplog):
    saving = run.saving(weights_folder=run.weights_folder)
    run.fit(saving)
    saving.restore(run.model)
    assert caplog.text == ""
    run.model.load_weights(run.weights_folder / "ckpt-00000001.weights.h5")
    assert "what is loaded holds no rows" in caplog.text


class HeldManifest:
    """Holds every save before it writes its manifest."""

    def __init__(self, monkeypatch):
        self.may_end = threading.Event()
        write = saving_lib.Save._write_manifest

        def held(save):
            if not self.may_end.wait(30):
                raise errors.UnavailableError("training did not go on")
            return write(save)

        monkeypatch.setattr(saving_lib.Save, "_write_manifest", held)


def test_training_goes_on_while_it_saves(run, monkeypatch):
    held = HeldManifest(monkeypatch)

    class Release(keras.callbacks.Callback):
        """Lets saves end after an epoch and a half."""

        def on_train_batch_end(self, batch, logs=None):
            if self.params.get("steps") and batch == 5 and self.epoch == 1:
                held.may_end.set()

        def on_epoch_begin(self, epoch, logs=None):
            self.epoch = epoch

    # So the first save ends during the second epoch.
    run.fit(run.saving(), Release(), epochs=2)
    assert len(run.folders()) == 2


def test_a_failed_save_does_not_end_training(run, monkeypatch, caplog):
    write, failures = saving_lib.Save._write_manifest, [True, False]

    def fail_first(save):
        if failures.pop(0):
            raise errors.UnavailableError("the disk is on fire")
        return write(save)

    monkeypatch.setattr(saving_lib.Save, "_write_manifest", fail_first)
    run.fit(run.saving(weights_folder=run.weights_folder), epochs=2)
    assert "the disk is on fire" in caplog.text
    assert len(run.folders()) == 1
    assert len(os.listdir(run.weights_folder)) == 1


def test_a_failed_last_save_raises_in_the_end(run, monkeypatch):
    def fail(save):
        raise errors.UnavailableError("the disk is on fire")

    monkeypatch.setattr(saving_lib.Save, "_write_manifest", fail)
    saving = run.saving(weights_folder=run.weights_folder)
    with pytest.raises(errors.UnavailableError, match="on fire"):
        run.fit(saving)
    assert saving.last_saved is None
    assert os.listdir(run.weights_folder) == []
    monkeypatch.undo()
    run.fit(saving)
    assert saving.last_saved


def test_a_save_that_cannot_begin_raises(start_shards, table, tmp_path):
    cluster = ptf.Cluster([start_shards(1)[0].address])
    run = Run(cluster, table, tmp_path)
    with pytest.raises(errors.FailedPreconditionError, match="--checkpoint-root"):
        run.fit(run.saving(save_freq=2))


def test_weights_are_never_seen_in_part(run, monkeypatch):
    run.fit(run.saving(weights_folder=run.weights_folder))
    before = (run.weights_folder / "ckpt-00000001.weights.h5").read_bytes()

    def fail(path, **options):
        with open(path, "wb") as file:
            file.write(b"a part")
        raise OSError("no space")

    monkeypatch.setattr(run.model, "save_weights", fail)
    files = weights_files.WeightsFiles(str(run.weights_folder))
    with pytest.raises(OSError, match="no space"):
        files.save(run.model, "run/ckpt-00000001")
    after = (run.weights_folder / "ckpt-00000001.weights.h5").read_bytes()
    assert after == before


def test_the_chief_alone_saves_and_all_read_the_weights(run):
    saved = []
    saving = run.saving(weights_folder=run.weights_folder)
    strategy = types.SimpleNamespace(
        num_replicas_in_sync=2,
        extended=types.SimpleNamespace(worker_devices=["cpu"], should_checkpoint=False),
    )
    saving.set_model(
        types.SimpleNamespace(distribute_strategy=strategy, save_weights=saved.append)
    )
    saving.on_epoch_end(0)
    saving.on_train_end()
    assert not run.path.exists()
    assert not run.weights_folder.exists()
    assert len(saved) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"save_freq": "step"}, ValueError, "'epoch' or a number of batches"),
        ({"save_freq": 0}, ValueError, "from 1 to"),
        ({"save_freq": 2.0}, TypeError, "must be an integer"),
        ({"block": True}, TypeError, "Received: block"),
        ({"max_to_keep": 0}, ValueError, "max_to_keep"),
        ({"whole_every": 0}, ValueError, "`whole_every` must be an integer from 1"),
        ({"whole_every": None}, TypeError, "Received: whole_every=None"),
    ],
)
def test_wrong_arguments_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        ptf.callbacks.TableCheckpoint("run", **options)
