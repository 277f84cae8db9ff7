"""Lets models of tf_keras load weights once they have trained under a strategy.

Works around https://github.com/keras-team/tf-keras/issues/731: files of weights have
those of metrics too. tf_keras assigns them as datasets of h5py, and TensorFlow divides
what is assigned to a metric's variable by the number of workers, which h5py's datasets
do not allow. When `tests/distribute/tf_keras_metrics_test.py` reports that loading no
longer fails, delete this file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from persia_tf._keras import keras


def load_metrics_from_arrays() -> None:
    """Makes metrics of tf_keras assign arrays instead of datasets of h5py."""
    load = keras.metrics.Metric.load_own_variables
    if not hasattr(load, "__wrapped__"):
        keras.metrics.Metric.load_own_variables = _from_arrays(load)


def _from_arrays(load: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(load)
    def from_arrays(metric: Any, store: Mapping[str, Any]) -> None:
        load(metric, {name: np.asarray(store[name]) for name in store.keys()})

    return from_arrays
