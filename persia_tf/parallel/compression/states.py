"""The variables in which a worker keeps what its encodings have to remember."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf


def zeros(shape: list[int], dtype: tf.DType, name: str) -> tf.Variable:
    """Creates a variable of zeros that only this worker has.

    It may be called while a function is traced, and under a strategy.

    Args:
        shape: Its shape.
        dtype: Its dtype.
        name: Its name.
    """

    def create() -> tf.Variable:
        with tf.device("CPU:0"):
            return tf.Variable(tf.zeros(shape, dtype), trainable=False, name=name)

    # A strategy would make a variable equal on all workers, and wait for them. Its
    # scope, and the graph that is being traced, are those of this thread only.
    with ThreadPoolExecutor(max_workers=1) as another_thread:
        return another_thread.submit(create).result()
