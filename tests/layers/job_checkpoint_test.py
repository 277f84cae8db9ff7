"""A job that is killed and started again ends as one that never was."""

import signal
import subprocess
import sys

import numpy as np
import pytest
from harness import same_path

pa = pytest.importorskip("pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 1500

JOB = """
import os, signal, sys
import numpy as np
import counted_job
import persia_tf as ptf
from persia_tf._keras import keras

data, job_folder, addresses, save_freq, kill_at, reader, steps = sys.argv[1:]
counted_job.seed(1)
cluster = ptf.Cluster(addresses.split(","), staleness=0, timeout=20)
model = counted_job.make_model(cluster, metrics=[["mae"], []])
read = getattr(ptf.data, reader)(
    f"{data}/*.{reader}", 32, label="y", shuffle_buffer=400, seed=5
)
job = ptf.callbacks.JobCheckpoint(
    job_folder, data=read, cluster=cluster, whole_every=3,
    save_freq=save_freq if save_freq == "epoch" else int(save_freq),
)
job.restore(model)


class Killer(keras.callbacks.Callback):
    steps = 0

    def on_train_batch_end(self, batch, logs=None):
        Killer.steps += 1
        if Killer.steps == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)


train = read.map(counted_job.doubled)
if int(steps):
    train = train.repeat()
history = model.fit(
    ptf.data.prefetch(train, model, staleness=0),
    epochs=3 * 47 // int(steps) if int(steps) else 3, initial_epoch=job.epoch,
    steps_per_epoch=int(steps) or None, callbacks=[job, Killer()], verbose=0,
)
values = counted_job.state_of(model, cluster)
values["mae"] = np.array(history.history["head_mae"][-1])
np.savez(os.path.join(os.path.dirname(job_folder), "end.npz"), **values)
"""


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    for number in range(3):
        ids = rng.integers(0, 200, ROWS // 3)
        columns = {"id": ids, "y": rng.random(ROWS // 3, np.float32)}
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=100)
        pa_csv.write_csv(pa.table(columns), path.with_suffix(".csv"))
    return tmp_path


@pytest.fixture
def run_job(start_shards, data, tmp_path):
    """Runs a job, killed at steps and started again; returns its state at the end."""

    def run(name, reader, save_freq, kills, steps):
        root = tmp_path / name
        root.mkdir()
        shards = start_shards(2, checkpoint_root=str(root))
        addresses = ",".join(shard.address for shard in shards)
        for kill_at in (*kills, 0):
            command = [sys.executable, "-c", JOB, str(data), str(root / "job")]
            command += [addresses, str(save_freq), str(kill_at), reader, str(steps)]
            ended = subprocess.run(
                command, env=same_path(), capture_output=True, text=True, timeout=300
            )
            expected = -signal.SIGKILL if kill_at else 0
            assert ended.returncode == expected, ended.stderr
        with np.load(root / "end.npz") as file:
            return dict(file)

    return run


@pytest.mark.parametrize(
    ("reader", "save_freq", "kills", "steps"),
    [
        ("parquet", 10, [3, 25, 40, 21], 0),
        pytest.param("csv", 10, [25, 40], 0, marks=pytest.mark.slow),
        pytest.param("parquet", "epoch", [50, 30], 0, marks=pytest.mark.slow),
        # An epoch of all files has 47 steps.
        ("csv", 10, [25, 40], 3),
    ],
)
def test_a_killed_job_ends_with_the_same_bits(run_job, reader, save_freq, kills, steps):
    undisturbed = run_job("undisturbed", reader, save_freq, [], steps)
    killed = run_job("killed", reader, save_freq, kills, steps)
    assert undisturbed.keys() == killed.keys()
    for name, value in undisturbed.items():
        if name != "mae":
            assert value.tobytes() == killed[name].tobytes(), name
    np.testing.assert_allclose(killed["mae"], undisturbed["mae"], rtol=1e-6)
    # Each sample was trained once in each of three epochs.
    assert undisturbed["counts"][:, 1].sum() == 3 * ROWS
