"""Times the calls of a function."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_REPEATS = 5


def median_seconds(function: Callable[..., Any], *args: Any) -> float:
    """Returns the median time of some calls of a function, after a first one."""
    function(*args)
    times = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def first_elements(gradients: Sequence[Any]) -> list[tf.Tensor]:
    """Returns one element of each gradient, so that a timed function prunes none."""
    found = [tf.convert_to_tensor(each) for each in gradients if each is not None]
    return [tf.reshape(each, [-1])[:1] for each in found]
