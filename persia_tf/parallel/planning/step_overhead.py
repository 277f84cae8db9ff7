"""What a step of `fit` costs beside the model: data, loss, metrics and callbacks."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf._keras import keras

_WARM_UP = 10
_STEPS = 60
_MOST_NUMBERS = 1 << 16


def measured_overhead(strategy: Any, specs: Any) -> float:
    """Returns the median seconds of a step of a small model. Collective.

    Args:
        strategy: The strategy, in whose scope this is called.
        specs: The inputs of the model that is planned, as a nest of `tf.TensorSpec`s:
            the small model's data have as many bytes.
    """
    examples, numbers = _data_shape(specs)
    # With a name and an initializer for all, since otherwise Keras's counts of names
    # and its sequence of random numbers would go on.
    layer = keras.layers.Dense(1, kernel_initializer="zeros", name="persia_probe_dense")
    inputs = keras.Input((numbers,), name="persia_probe_input")
    model = keras.Model(inputs, layer(inputs), name="persia_probe")
    model.compile(keras.optimizers.SGD(name="persia_probe_sgd"), "mse")
    meter = _Meter()
    batch = examples * strategy.num_replicas_in_sync
    data = tf.data.Dataset.from_tensors(
        (tf.zeros([batch, numbers]), tf.zeros([batch, 1]))
    ).repeat(_WARM_UP + _STEPS)
    model.fit(data, shuffle=False, verbose=0, callbacks=[meter])
    return float(np.median(np.diff(meter.ends[_WARM_UP:])))


def _data_shape(specs: Any) -> tuple[int, int]:
    """Returns the examples of a worker, and the numbers of an example."""
    dense = [
        each
        for each in tf.nest.flatten(specs)
        if isinstance(each, tf.TensorSpec) and each.shape.is_fully_defined()
    ]
    sizes = [each.shape.num_elements() * each.dtype.size // 4 for each in dense]
    examples = max([each.shape[0] for each in dense if each.shape.rank] or [1])
    return examples, max(1, min(sum(sizes) // examples, _MOST_NUMBERS))


class _Meter(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.ends: list[float] = []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.ends.append(time.perf_counter())
