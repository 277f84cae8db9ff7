"""Runs the sides of peers.py, each in processes and an environment of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peer_environments
import program_runs

_HERE = Path(__file__).resolve().parent
Result = dict[str, Any]  # What the last line of one turn says.


class SideFailed(Exception):
    """A side has no figures; the message says why."""


@dataclass(frozen=True)
class Side:
    """A library that trains the click model.

    Attributes:
        title: What it is called in tables.
        program: Its program in this folder, and arguments.
        packages: The packages whose versions matter.
        requirements: What its own environment has; empty for the environment that runs
            this benchmark.
    """

    title: str
    program: Sequence[str]
    packages: Sequence[str]
    requirements: Sequence[str] = ()


def run_side(
    name: str, side: Side, options: Sequence[object], most_seconds: float
) -> Result:
    """Runs a side once.

    Args:
        name: Its name, which its environment's folder has.
        side: The side.
        options: The options that all sides get.
        most_seconds: After this time, the side is ended and has failed.

    Returns:
        What its last line says.

    Raises:
        SideFailed: if it has no environment, fails, takes too long, or learns nothing.
    """
    python, environment = _environment(name, side)
    program, *arguments = side.program
    command = [python, str(_HERE / program), *arguments, *map(str, options)]
    ended = program_runs.run(command, env=environment, most_seconds=most_seconds)
    if ended.reason:
        raise SideFailed(ended.reason)
    check_learned(ended.result["figures"])
    return ended.result


def check_learned(figures: Mapping[str, float]) -> None:
    """Raises SideFailed unless the loss has fallen."""
    first, last = figures["first_loss"], figures["last_loss"]
    # Not `last >= first`, so that it also fails if a loss is not a number.
    if not last < first:
        raise SideFailed(f"it did not learn: the loss went from {first} to {last}")


def _environment(name: str, side: Side) -> tuple[str, dict[str, str]]:
    """Returns the Python of a side and its environment variables."""
    if not side.requirements:
        path = [str(_HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        return sys.executable, {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    try:
        python = peer_environments.python_of(name, side.requirements)
    except peer_environments.EnvironmentFailed as error:
        raise SideFailed(str(error)) from None
    # Without our own packages, which are built for another version of TensorFlow.
    return str(python), {**os.environ, "PYTHONPATH": str(_HERE)}
