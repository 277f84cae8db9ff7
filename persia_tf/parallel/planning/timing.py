"""Times the calls of a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from persia_tf.parallel.members import Members

# Calls go on until both are reached.
_LEAST_CALLS = 5
_LEAST_SECONDS = 0.1


class Timing:
    """Times functions of TensorFlow, on all workers at the same time.

    Workers may share a machine, so what one computes takes longer while the others
    compute too, as they do in a step.

    Args:
        workers: All workers.
    """

    def __init__(self, workers: Members) -> None:
        self._workers = workers
        nothing = tf.function(tf.identity, autograph=False)
        self._call_seconds = _median(nothing, tf.constant(0.0))

    def seconds(self, function: Callable[..., Any], *args: Any) -> float:
        """Returns the median time of a function. Collective.

        The time that any function takes to be called is not included.

        Args:
            function: A `tf.function` in which no worker waits for another.
            *args: Its arguments.
        """
        function(*args)
        self._workers.sum(tf.constant([0]), "timing")
        return max(0.0, _median(function, *args) - self._call_seconds)


def collective_seconds(calls: int, function: Callable[..., Any], *args: Any) -> float:
    """Returns the median time of a function in which workers wait for each other.

    Args:
        calls: How often it is called: equally often on all workers.
        function: A `tf.function`.
        *args: Its arguments.
    """
    function(*args)
    return float(np.median([_once(function, *args) for _ in range(calls)]))


def first_elements(gradients: Sequence[Any]) -> list[tf.Tensor]:
    """Returns one element of each gradient, so that a timed function prunes none."""
    found = [tf.convert_to_tensor(each) for each in gradients if each is not None]
    return [tf.reshape(each, [-1])[:1] for each in found]


def _median(function: Callable[..., Any], *args: Any) -> float:
    times: list[float] = []
    while len(times) < _LEAST_CALLS or sum(times) < _LEAST_SECONDS:
        times.append(_once(function, *args))
    return float(np.median(times))


def _once(function: Callable[..., Any], *args: Any) -> float:
    began = time.perf_counter()
    function(*args)
    return time.perf_counter() - began
