"""What the programs of peers/ share: their options, their data, and what they print.

It imports NumPy alone: each program runs in an environment with its own framework.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version

from processes import peak_memory_mb
from step_windows import Losses, StepWindows
from workload_w1 import BATCH, TOTAL_ROWS

WARM_UP_STEPS = 20
SEED = 0
# As in w1_model.py, which needs TensorFlow.
ADAGRAD_LEARNING_RATE = 0.05
ADAGRAD_INITIAL = 0.1
ADAM_LEARNING_RATE = 0.001
# Keras's own, for all sides alike.
UNIFORM = 0.05


def parse_arguments(
    description: str, given: Sequence[str] | None = None
) -> argparse.Namespace:
    """Parses the options that all programs have; the defaults are the workload's."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--batch", type=int, default=BATCH)
    add("--batches", type=int, default=200, help="batches in memory, cycled")
    add("--rows", type=int, default=TOTAL_ROWS, help="ids of all features")
    add("--windows", type=int, default=4)
    add("--seconds", type=float, default=6.0, help="seconds per window")
    return parser.parse_args(given)


def measure(
    steps: Iterable[float],
    arguments: argparse.Namespace,
    pids: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Trains for all windows; returns the figures.

    Args:
        steps: Trains a step whenever it is asked for the next loss.
        arguments: The command line's options.
        pids: The ids of further processes that train, by name.
    """
    pids = {"": os.getpid(), **(pids or {})}
    windows = StepWindows(
        arguments.windows, arguments.seconds, WARM_UP_STEPS, pids.values()
    )
    losses = Losses()
    for loss in steps:
        losses.add(loss)
        if not windows.step():
            break
    rates = [count * arguments.batch / seconds for count, seconds in windows.measured]
    memory = {
        f"peak_memory_mb{name and '_' + name}": peak_memory_mb(pid)
        for name, pid in pids.items()
    }
    return {
        "samples_per_second": statistics.median(rates),
        **memory,
        "cpu_seconds": windows.cpu_seconds,
        "cpu_us_per_sample": windows.cpu_us_per_sample(arguments.batch),
        **losses.figures(),
    }


def report(
    name: str,
    figures: Mapping[str, float],
    arguments: argparse.Namespace,
    packages: Iterable[str],
) -> None:
    """Prints the result, with the versions of packages, as one JSON object."""
    setup = {
        **vars(arguments),
        "cores": os.cpu_count(),
        "seed": SEED,
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
    result = {"benchmark": name, "figures": figures, "setup": setup}
    print(json.dumps(result), flush=True)
