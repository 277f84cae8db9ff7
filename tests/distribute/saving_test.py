"""Several workers save one model: the chief alone writes, and it writes once."""

import json

import pytest

COMMON = """
import json
import os
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.saving import stored_rows

INDEX = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
random = np.random.default_rng(0)
ids = random.integers(0, 300, (64, 3))
labels = random.integers(0, 2, (64, 1)).astype("float32")
strategy = ptf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=120
    )
)
cluster = ptf.Cluster(timeout=20, staleness=0)
stores = []
store_rows = stored_rows.store_rows
stored_rows.store_rows = lambda *args: stores.append(1) or store_rows(*args)


def make_model():
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(4, table="t", optimizer=OPTIMIZER)
    layer.cluster = cluster
    vectors = keras.layers.Flatten()(layer(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(vectors))
    model.compile(keras.optimizers.SGD(0.5, momentum=0.9), "binary_crossentropy")
    return model


def say(model, **results):
    saved = len(stores)
    rows = {}
    for batch in ptf.Table("t", cluster).export():
        both = np.concatenate([batch.rows, batch.state], axis=1)
        rows.update(zip(batch.ids.tolist(), both.tolist()))
    weights = [weight.tolist() for weight in model.get_weights()]
    rows = sorted(rows.items())
    print(json.dumps({"rows": rows, "weights": weights, "saved": saved, **results}))


class Stop(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == STOP:
            print(json.dumps({"saved": len(stores)}), flush=True)
            os._exit(9)


data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(16)
with strategy.scope():
    model = make_model()
    saving = ptf.callbacks.ModelCheckpoint(FOLDER + "/{epoch}.keras")
    backing_up = ptf.callbacks.BackupAndRestore(FOLDER + "/backup")
    history = model.fit(
        data, epochs=4, verbose=0, callbacks=[backing_up, saving, Stop()]
    )
say(model, losses=history.history["loss"])
""".replace("OPTIMIZER", "ptf.optimizers.SGD(0.5)")

LOAD = """
if INDEX == 0:  # Maybe before the others have told of theirs.
    ptf.Table("t", cluster).remove(ids[:5].flatten())
with strategy.scope(), ptf.use_cluster(cluster):
    loaded = keras.models.load_model(FOLDER + "/4.keras")
say(loaded)
# The chief finds out that these rows do not fit.
with strategy.scope():
    inputs = keras.Input((3,), dtype="int64")
    layer = ptf.layers.PersiaEmbedding(5, table="other", cluster=cluster)
    other = keras.Model(inputs, layer(inputs))
    store = {}
    loaded.layers[1].save_own_variables(store)
    try:
        layer.load_own_variables(store or {"0": np.zeros(0)})
    except Exception as error:
        print(json.dumps(str(error)))
"""


CHECKPOINT = """
folder = FOLDER + "/worker{}/"
path = tf.train.Checkpoint(model=model).save(folder.format(INDEX) + "ckpt")
say(model)
if INDEX == 0:
    ptf.Table("t", cluster).remove(ids[:5].flatten())
with strategy.scope():
    again = make_model()
    checkpoint = tf.train.Checkpoint(model=again)
    checkpoint.restore(tf.train.latest_checkpoint(folder.format(0)))
say(again)
"""


@pytest.fixture
def run(run_workers, tmp_path):
    def run(folder, stop, more="", **options):
        (tmp_path / folder).mkdir(exist_ok=True)
        values = f"FOLDER, STOP = {str(tmp_path / folder)!r}, {stop}\n"
        return run_workers(values + COMMON + more, **options)

    return run


def names(folder):
    return sorted(path.name for path in folder.glob("*.keras"))


@pytest.mark.slow
def test_workers_that_were_killed_go_on_from_the_last_epoch(run, tmp_path):
    whole, other = (ended.result() for ended in run("whole", stop=None))
    assert other["rows"] == whole["rows"] and other["weights"] == whole["weights"]
    assert names(tmp_path / "whole") == ["1.keras", "2.keras", "3.keras", "4.keras"]

    killed = run("killed", stop=2)
    assert [ended.status for ended in killed] == [9, 9]
    assert '{"saved": 4}' in killed[0].output  # Twice for each callback.
    assert '{"saved": 0}' in killed[1].output
    assert names(tmp_path / "killed") == ["1.keras", "2.keras"]

    again, other = (ended.result() for ended in run("killed", stop=None, shard_count=3))
    assert other["rows"] == again["rows"] and other["weights"] == again["weights"]
    assert (again["saved"], other["saved"]) == (4, 0)
    assert names(tmp_path / "killed") == names(tmp_path / "whole")
    assert again["losses"] == pytest.approx(whole["losses"][2:], abs=1e-5)
    for (row_id, row), (whole_id, expected) in zip(again["rows"], whole["rows"]):
        assert row_id == whole_id
        assert row == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_workers_load_what_was_saved_and_know_when_the_chief_cannot(run):
    ended = run("folder", stop=None, more=LOAD)
    assert [worker.status for worker in ended] == [0, 0], ended[0].errors
    lines = [map(json.loads, worker.output.splitlines()) for worker in ended]
    (trained, loaded, refused), (_, loaded_too, refused_too) = lines
    assert loaded["rows"] == loaded_too["rows"] == trained["rows"]
    assert loaded["weights"] == loaded_too["weights"] == trained["weights"]
    assert "must have the same `output_dim`" in refused
    assert "another worker failed to save or load" in refused_too


@pytest.mark.slow
def test_workers_restore_what_the_chief_has_in_a_checkpoint_of_tensorflow(run):
    ended = run("folder", stop=None, more=CHECKPOINT)
    assert [worker.status for worker in ended] == [0, 0], ended[0].errors
    lines = [[*map(json.loads, worker.output.splitlines())] for worker in ended]
    (_, saved, restored), (_, _, restored_too) = lines
    assert restored["rows"] == restored_too["rows"] == saved["rows"]
    assert restored["weights"] == restored_too["weights"] == saved["weights"]
    assert (restored["saved"], restored_too["saved"]) == (9, 0)
