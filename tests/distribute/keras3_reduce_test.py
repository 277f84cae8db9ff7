"""Whether Keras 3 still needs what `keras3_reduce.py` does for it."""

import pytest

from persia_tf._keras import IS_KERAS_3

PLAIN = """
import json
import numpy as np
import tensorflow as tf
from persia_tf._keras import keras
from persia_tf.distribute import multi_worker

strategy = tf.distribute.MultiWorkerMirroredStrategy(
    multi_worker._Workers(),
    tf.distribute.experimental.CommunicationOptions(timeout_seconds=30),
)
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
try:
    model.fit(np.ones((20, 3)), np.ones((20, 1)), batch_size=8, verbose=0)
    print(json.dumps(""))
except Exception as error:
    print(json.dumps(f"{type(error).__name__}: {error}"))
"""


@pytest.mark.slow
@pytest.mark.skipif(not IS_KERAS_3, reason="tf_keras works as it is")
def test_tensorflows_own_strategy_still_fails(run_workers):
    for ended in run_workers(PLAIN):
        failure = ended.result()
        assert failure, "keras3_reduce.py is no longer needed: remove it"
        assert "PerReplica" in failure
