"""A training job that may be killed at any moment, and started again.

    python killed_job.py DATA JOB_FOLDER SHARDS EPOCHS DISPATCHER

DISPATCHER may be empty: then the job reads its files itself. Each step adds a byte to
the file `steps` beside the job's folder; the job waits while that file has as many
bytes as the file `allowed`, if it is there, says. The job's end writes all its state to
`end.npz`.
"""

import sys
import time
from pathlib import Path

import counted_job
import numpy as np

import persia_tf as ptf
from persia_tf._keras import keras

BATCH = 16
SAVE_FREQ = 8


def prepare(x, y):
    return {"id": x["id"] % 500}, (y, y)


class Steps(keras.callbacks.Callback):
    """Notes each step in a file, and makes no more of them than are allowed."""

    def __init__(self, folder):
        super().__init__()
        self._steps = folder / "steps"
        self._allowed = folder / "allowed"

    def on_train_batch_end(self, batch, logs=None):
        with self._steps.open("ab") as file:
            file.write(b".")
        while self._has_to_wait():
            time.sleep(0.005)

    def _has_to_wait(self):
        if not self._allowed.exists():
            return False
        text = self._allowed.read_text()
        return bool(text) and self._steps.stat().st_size >= int(text)


def main():
    data, job_folder, addresses, epochs, dispatcher = sys.argv[1:]
    counted_job.seed(1)
    cluster = ptf.Cluster(addresses.split(","), staleness=0, timeout=60)
    model = counted_job.make_model(cluster)
    train = ptf.data.parquet(
        f"{data}/*.parquet", BATCH, label="y", shuffle_buffer=200, seed=5
    )
    if dispatcher:
        train = ptf.data.service(train, prepare, address=dispatcher, patience=3.0)
        stage = train
    else:
        stage = train.map(prepare)
    job = ptf.callbacks.JobCheckpoint(
        job_folder,
        data=train,
        cluster=cluster,
        save_freq=SAVE_FREQ,
        whole_every=5,
        max_to_keep=3,
    )
    job.restore(model)
    root = Path(job_folder).parent
    model.fit(
        ptf.data.prefetch(stage, model, staleness=0),
        epochs=int(epochs),
        initial_epoch=job.epoch,
        callbacks=[job, Steps(root)],
        verbose=0,
    )
    np.savez(root / "end.npz", **counted_job.state_of(model, cluster))


if __name__ == "__main__":
    main()
