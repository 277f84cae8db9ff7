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

import numpy as np
import tensorflow as tf

import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

BATCH = 16
SAVE_FREQ = 8


def make_model(cluster):
    """A model whose table `counts` has, of each id, how often it was trained."""
    ids = keras.Input((), dtype="int64", name="id")
    vectors = ptf.layers.PersiaEmbedding(
        4, table="rows", cluster=cluster, optimizer=ptf.optimizers.Adagrad()
    )(ids)
    count = ptf.layers.PersiaEmbedding(
        1,
        table="counts",
        cluster=cluster,
        embeddings_initializer="zeros",
        optimizer=ptf.optimizers.SGD(1.0),
    )(ids)
    hidden = keras.layers.Dropout(0.3)(keras.layers.Dense(8, "relu")(vectors))
    outputs = keras.layers.Dense(1, name="head")(hidden)
    model = keras.Model({"id": ids}, [outputs, count])

    def loss(y, outputs):
        return keras.losses.mean_squared_error(y, outputs)

    def counted(y, count):
        # Each sample of a batch takes 1 from its row.
        return -tf.reduce_sum(count)

    model.compile("adam", loss=[loss, counted])
    return model


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


def state_of(model, cluster):
    """Returns all that training has changed, by name."""
    values = {f"weight{i}": np.asarray(w) for i, w in enumerate(model.weights)}
    optimizer = model.optimizer.variables
    values |= {f"optimizer{i}": np.asarray(w) for i, w in enumerate(optimizer)}
    for name in ("rows", "counts"):
        pages = ptf.Table(name, cluster).export()
        rows = [
            (int(i), *row, *state)
            for page in pages
            for i, row, state in zip(page.ids, page.rows, page.state)
        ]
        values[name] = np.array(sorted(rows))
    return values


def main():
    data, job_folder, addresses, epochs, dispatcher = sys.argv[1:]
    keras.utils.set_random_seed(1)
    if not IS_KERAS_3:
        keras.backend.experimental.enable_tf_random_generator()
    cluster = ptf.Cluster(addresses.split(","), staleness=0, timeout=60)
    model = make_model(cluster)
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
    np.savez(root / "end.npz", **state_of(model, cluster))


if __name__ == "__main__":
    main()
