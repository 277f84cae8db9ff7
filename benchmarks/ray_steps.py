"""Trains a small model until a file says that it should stop.

    python benchmarks/ray_steps.py STEPS_FILE STOP_FILE

Writes a line with the time, in seconds, to STEPS_FILE after each step, and ends once
STOP_FILE exists. `ray_bench.py` and tests run it while they kill a node.
"""

import os
import sys
import time

import numpy as np
import tensorflow as tf

import persia_tf as ptf

keras = tf.keras

BATCH_SIZE = 64


class StepTimes(keras.callbacks.Callback):
    """Writes the line of each step, and ends the training."""

    def __init__(self, steps_file, stop_file):
        super().__init__()
        self._steps_file = steps_file
        self._stop_file = stop_file

    def on_train_batch_end(self, batch, logs=None):
        print(time.time(), file=self._steps_file, flush=True)
        self.model.stop_training = os.path.exists(self._stop_file)


def main() -> None:
    steps_path, stop_path = sys.argv[1:]
    inputs = keras.Input((4,), dtype="int64")
    # Requests wait for a restart also on a busy machine.
    cluster = ptf.Cluster(timeout=120.0)
    vectors = ptf.layers.PersiaEmbedding(
        8,
        table="ray_steps",
        optimizer=ptf.optimizers.Adagrad(0.1),
        cluster=cluster,
    )(inputs)
    outputs = keras.layers.Dense(1)(keras.layers.Flatten()(vectors))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    ids = np.random.default_rng(0).integers(0, 1000, (BATCH_SIZE, 4))
    batches = tf.data.Dataset.from_tensors((ids, np.ones((BATCH_SIZE, 1)))).repeat()
    with open(steps_path, "w") as steps_file:
        # Keras ends a training between epochs.
        model.fit(
            batches,
            steps_per_epoch=10,
            epochs=10**6,
            verbose=0,
            callbacks=[StepTimes(steps_file, stop_path)],
        )


if __name__ == "__main__":
    main()
