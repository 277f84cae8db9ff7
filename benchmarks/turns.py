"""Runs benchmarks in turn, so that a busy minute of the machine affects all sides."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import program_runs

_HERE = Path(__file__).resolve().parent


def run_program(
    name: str, *arguments: object, checkout: Path | None = None
) -> dict[str, Any]:
    """Runs a benchmark in a process of its own; returns what its last line says.

    Args:
        name: The name of its file in this folder.
        *arguments: Its command line.
        checkout: Another checkout, whose program and package run instead.

    Returns:
        A dict with its `benchmark`, `figures` and `setup`.
    """
    folder = _HERE if checkout is None else checkout / "benchmarks"
    command = [sys.executable, str(folder / name), *map(str, arguments)]
    env = None if checkout is None else {**os.environ, "PYTHONPATH": str(checkout)}
    ended = program_runs.run(command, cwd=checkout, env=env)
    if ended.reason:
        raise SystemExit(f"{' '.join(command)}: {ended.reason}")
    return ended.result


def in_turn(
    name: str, sides: Mapping[str, Sequence[object]], turns: int
) -> dict[str, list[dict[str, Any]]]:
    """Runs a benchmark with each side's arguments, A B A B ...

    Args:
        name: The name of its file in this folder.
        sides: The command line of each side.
        turns: The number of turns of each side.

    Returns:
        The result of each turn, by side.
    """
    said: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for turn in range(turns):
        for side, arguments in sides.items():
            said[side].append(run_program(name, *arguments))
            figures = said[side][-1]["figures"]
            print(f"turn {turn + 1}: {side}: {figures}", file=sys.stderr, flush=True)
    return said


def median(turns: Sequence[Mapping[str, Any]], figure: str) -> float:
    """Returns the median of a figure over the turns of a side."""
    return statistics.median(turn["figures"][figure] for turn in turns)
