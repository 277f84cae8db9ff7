"""This worker's values of variables, each of which may have several replicas.

Under a strategy, reading a variable that is synchronized when it is read, such as that
of a metric, adds up those of all workers, which all have to take part. These functions
use the replicas of this process alone. Only trained variables are the same on all
workers: even mirrored ones, such as moving averages, may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.layers.replicas import strategy_of
from persia_tf.parallel.divided_variable import stored


def value_of(model: Any, variable: Any) -> np.ndarray:
    """Returns this worker's value of a variable: what its replicas add up to.

    Args:
        model: The model whose strategy made the variable.
        variable: A variable of Keras or TensorFlow.
    """
    values = [np.asarray(each) for each in _replicas(model, variable)]
    kind = _aggregation(variable)
    if kind == "SUM":
        return np.sum(values, axis=0, dtype=values[0].dtype)
    if kind == "MEAN":
        return np.mean(values, axis=0).astype(values[0].dtype)
    return values[0]


def assign(model: Any, variable: Any, value: np.ndarray) -> None:
    """Gives a variable the value that `value_of` returned."""
    first, *others = _replicas(model, variable)
    first.assign(value)
    is_sum = _aggregation(variable) == "SUM"
    for other in others:
        other.assign(np.zeros_like(value) if is_sum else value)


def add(model: Any, variable: Any, value: np.ndarray) -> None:
    """Adds to a variable what `value_of` returned."""
    assign(model, variable, value_of(model, variable) + value)


def _replicas(model: Any, variable: Any) -> list[Any]:
    strategy = strategy_of(model) or tf.distribute.get_strategy()
    return list(strategy.experimental_local_results(stored(variable)))


def _aggregation(variable: Any) -> str:
    """Returns how the values of replicas become one; "" if they are the same."""
    variable = stored(variable)
    if variable.synchronization == tf.VariableSynchronization.ON_READ:
        return variable.aggregation.name
    return ""
