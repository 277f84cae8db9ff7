"""Times the calls of a function."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

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
