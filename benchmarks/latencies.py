"""Measures latencies of models that are called in turn with the same inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np


def seconds_in_turn(
    models: Mapping[str, Callable[..., Any]],
    batches: Sequence[Mapping[str, Any]],
    turns: int,
) -> dict[str, list[float]]:
    """Calls each model with all batches, once as a warm-up, and then `turns` times.

    Args:
        models: The models by name, in the order of their turns.
        batches: The inputs by name, for each call.
        turns: The number of measured turns of each model.

    Returns:
        The seconds of every call, by model.
    """
    for model in models.values():
        for batch in batches:
            model(**batch)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(turns):
        for name, model in models.items():
            for batch in batches:
                begin = time.perf_counter()
                model(**batch)
                seconds[name].append(time.perf_counter() - begin)
    return seconds


def percentiles_over(
    seconds: Mapping[str, Sequence[float]], base: str, called: str
) -> dict[str, dict[str, float]]:
    """Returns each model's 50th and 99th percentiles, and ratios to those of `base`.

    Args:
        seconds: The seconds of each call, by model.
        base: The model that the others are compared with.
        called: The name of `base` in figures, such as keras in `p50_over_keras`.
    """
    base50, base99 = np.percentile(seconds[base], [50, 99])
    figures = {}
    for name, took in seconds.items():
        p50, p99 = np.percentile(took, [50, 99])
        figures[name] = {
            "p50_ms": 1e3 * p50,
            "p99_ms": 1e3 * p99,
            f"p50_over_{called}": p50 / base50,
            f"p99_over_{called}": p99 / base99,
        }
    return figures
