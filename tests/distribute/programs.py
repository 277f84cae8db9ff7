"""The code with which programs of several workers, or several replicas, begin."""

from __future__ import annotations

import json

# The number of processes of a strategy.
PROCESSES = {"no strategy": 1, "mirrored": 1, "2 workers": 2, "4 workers": 4}

_MIRRORED = """
[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
"""

_WORKERS = """
strategy = ptf.distribute.MultiWorkerMirroredStrategy(
    communication_options=tf.distribute.experimental.CommunicationOptions(
        timeout_seconds=TIMEOUT
    )
)
"""

_STRATEGIES = {
    "no strategy": "strategy = tf.distribute.get_strategy()",
    "mirrored": _MIRRORED,
    "2 workers": _WORKERS,
    "4 workers": _WORKERS,
}

_IMPORTS = """
import json
import os
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import IS_KERAS_3, keras

CONFIG = json.loads(os.environ.get("TF_CONFIG", "{}"))
INDEX = CONFIG["task"]["index"] if CONFIG else 0
"""

_REST = """

def say(**results):
    # Flushed, since some programs end by os._exit. Floats are those of NumPy.
    print(json.dumps(results, default=float), flush=True)


def batches(*columns, size=16):
    if len(columns) > 1:
        return tf.data.Dataset.from_tensor_slices(columns).batch(size)
    return tf.data.Dataset.from_tensor_slices(columns[0]).batch(size)
"""


def preamble(strategy: str = "2 workers", timeout: int = 180) -> str:
    """Returns Python that makes `strategy`, and gives `INDEX`, `say` and `batches`.

    Args:
        strategy: One of `PROCESSES`.
        timeout: The time-out of its collectives, in seconds.
    """
    made = _STRATEGIES[strategy].replace("TIMEOUT", json.dumps(timeout))
    return _IMPORTS + made + _REST


# Rows are updated so that several workers train them exactly as one does.
MODEL = """
random = np.random.default_rng(0)
ids = random.integers(0, 30, (90, 3))
labels = random.integers(0, 2, (90, 1)).astype("float32")


def make_cluster(staleness=4):
    return ptf.Cluster(timeout=20, staleness=staleness)


def make_model(staleness=4, table="t", **options):
    keras.utils.set_random_seed(1)
    inputs = keras.Input((3,), dtype="int64")
    vectors = ptf.layers.PersiaEmbedding(
        4,
        table=table,
        optimizer=ptf.optimizers.SGD(0.5),
        cluster=make_cluster(staleness),
    )(inputs)
    outputs = keras.layers.Dense(1, "sigmoid")(keras.layers.Flatten()(vectors))
    model = keras.Model(inputs, outputs)
    metrics = ["accuracy", keras.metrics.AUC()]
    model.compile("sgd", "binary_crossentropy", metrics=metrics, **options)
    return model
"""


# A callback with which a worker fails after some steps, and how the others tell it.
FAILING = """
import pathlib
import signal


class Fail(keras.callbacks.Callback):
    # Between steps the other workers go on, to their next exchange.
    def on_train_batch_end(self, batch, logs=None):
        if INDEX == FAILING and batch == 2:
            pathlib.Path("failed").write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGNAL)


def tell(error):
    address = CONFIG["cluster"]["worker"][FAILING]
    say(raised=str(error), failed=f"worker FAILING ({address})")
    if "SIGNAL" == "SIGSTOP":
        os.kill(int(pathlib.Path("failed").read_text()), signal.SIGKILL)
    os._exit(0)  # TensorFlow would wait for the worker that failed.
"""


def failing(worker: int, by: str) -> str:
    """Returns Python for a program in which one worker fails in `fit`.

    It gives the callback `Fail`, and `tell`, which reports what another worker raised.

    Args:
        worker: The index of the worker that fails.
        by: The name of the signal.
    """
    return FAILING.replace("FAILING", str(worker)).replace("SIGNAL", by)
