"""What hierarchical_bench.py and cost_model_bench.py share: options, and runs."""

from __future__ import annotations

import argparse
from typing import Any

from network_workers import run_workers

_PASSED_ON = ("model", "width", "batch", "optimizer", "steps", "plans", "group_size")


def add_options(parser: argparse.ArgumentParser, width: int) -> None:
    """Adds the options of the workers, of their network and of their models.

    Args:
        parser: The parser.
        width: The default width of the models.
    """
    add = parser.add_argument
    add("--workers", type=int, default=2, help="(%(default)s)")
    add("--group-size", type=int, help="of each group (all workers)")
    add("--mbit", type=int, default=1000, help="per second (%(default)s)")
    add("--width", type=int, default=width, help="of the models (%(default)s)")
    add("--batch", type=int, default=64, help="examples per worker (%(default)s)")
    add("--optimizer", default="adam", help="(%(default)s)")
    add("--quick", action="store_true", help="only a smoke test")


def run(way: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Trains in one way; returns what the first worker measured.

    Args:
        way: One of `hierarchical_worker.WAYS`, or "many".
        arguments: `workers`, `mbit`, and the arguments of hierarchical_worker.py.

    Returns:
        For each plan, or for the only way without one: the `seconds` of each step, and
        what `hierarchical_worker.measured` adds for a plan.
    """
    options = ["--way", way]
    for name in _PASSED_ON:
        value = getattr(arguments, name, None)
        if value is not None:
            options += [f"--{name.replace('_', '-')}", str(value)]
    first, *_ = run_workers(
        "hierarchical_worker.py", options, arguments.workers, arguments.mbit
    )
    return first["runs"]
