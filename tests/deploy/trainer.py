"""Trains until a file `stop` exists in the current folder.

After its first epoch it saves a checkpoint, and exports the model to the folder
`exported`. Its table is too small for its ids, so that rows are evicted.
"""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import persia_tf as ptf


class Work(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if epoch == 0:
            ptf.checkpoint.save("first")
            ptf.serving.export(self.model, "exported")
        if Path("stop").exists():
            self.model.stop_training = True


rng = np.random.default_rng(0)
ids = rng.integers(0, 5000, (4096, 4))
labels = rng.integers(0, 2, (4096, 1)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((ids, labels)).batch(64)

inputs = keras.Input((4,), dtype="int64")
rows = ptf.layers.PersiaEmbedding(8, table="item", combiner="mean", capacity=1000)
model = keras.Model(inputs, keras.layers.Dense(1, "sigmoid")(rows(inputs)))
model.compile("adagrad", "binary_crossentropy")
model.fit(ptf.data.prefetch(data, model), epochs=10**9, verbose=0, callbacks=[Work()])
