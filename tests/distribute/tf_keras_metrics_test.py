"""Whether a model loads weights when it has trained, and tf_keras needs help for it."""

import pytest

from persia_tf._keras import IS_KERAS_3

LOADING = """
import json
import os
import numpy as np
import tensorflow as tf
import persia_tf as ptf
from persia_tf._keras import keras
from persia_tf.distribute import multi_worker

INDEX = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
path = f"{INDEX}.weights.h5"
random = np.random.default_rng(0)
data = [random.normal(size=(16, each)) for each in (3, 1)]
options = tf.distribute.experimental.CommunicationOptions(timeout_seconds=120)


def totals(model):
    weights = [each for metric in model.metrics for each in metric.weights]
    return [float(each.numpy()) for each in weights]


strategy = STRATEGY(multi_worker._Workers(), options)
with strategy.scope():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(*data, verbose=0)
    model.save_weights(path)
    saved = totals(model)
    model.fit(*data, verbose=0)
    trained = totals(model)
    error = ""
    try:
        model.load_weights(path)
    except TypeError as raised:
        error = str(raised)
    loaded = totals(model)
print(json.dumps({"totals": [saved, trained, loaded], "error": error}))
"""


def results(run_workers, strategy):
    ended = run_workers(LOADING.replace("STRATEGY", strategy))
    return [each.result() for each in ended]


@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 needs no help")
def test_a_model_that_has_trained_loads_weights_and_metrics(run_workers):
    for result in results(run_workers, "ptf.distribute.MultiWorkerMirroredStrategy"):
        assert not result["error"]
        saved, trained, loaded = result["totals"]
        assert loaded == pytest.approx(saved)
        assert loaded != pytest.approx(trained)


@pytest.mark.slow
@pytest.mark.skipif(IS_KERAS_3, reason="Keras 3 needs no help")
def test_tensorflows_own_strategy_still_fails(run_workers):
    for result in results(run_workers, "tf.distribute.MultiWorkerMirroredStrategy"):
        assert result["error"], "tf_keras_metrics.py is no longer needed: remove it"
        assert "'Dataset' and 'int'" in result["error"]
