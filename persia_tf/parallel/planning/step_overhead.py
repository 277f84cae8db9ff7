"""What a step of `fit` costs beside the model: data, loss, metrics and callbacks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf._keras import keras

_WARM_UP = 5
_STEPS = 25


def measured_overhead(strategy: Any) -> float:
    """Returns the median seconds of a step of the smallest model. Collective.

    Args:
        strategy: The strategy, in whose scope this is called.
    """
    # With a name and an initializer for all, since otherwise Keras's counts of names
    # and its sequence of random numbers would go on.
    layer = keras.layers.Dense(1, kernel_initializer="zeros", name="persia_probe_dense")
    inputs = keras.Input((1,), name="persia_probe_input")
    model = keras.Model(inputs, layer(inputs), name="persia_probe")
    model.compile(keras.optimizers.SGD(name="persia_probe_sgd"), "mse")
    meter = _Meter()
    examples = tf.zeros([strategy.num_replicas_in_sync, 1])
    data = tf.data.Dataset.from_tensors((examples, examples)).repeat(_WARM_UP + _STEPS)
    model.fit(data, shuffle=False, verbose=0, callbacks=[meter])
    return float(np.median(np.diff(meter.ends[_WARM_UP:])))


class _Meter(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.perf_counter())
