"""Stores finished trainings in a file, so that a long comparison can be resumed."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import Any


class Runs:
    """The results of finished trainings, stored as the last output line of each.

    A training is not repeated if the file has one with an equal setup, even if the code
    has changed since then.

    Args:
        path: The file, which is created when the first training ends; None: no file.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        exists = path is not None and path.exists()
        lines = path.read_text().splitlines() if exists else []
        self._said = [json.loads(line) for line in lines]

    def find(self, setup: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the figures of the training with this setup, or None."""
        for said in self._said:
            if said["setup"] == setup:
                return said["figures"]
        return None

    def add(self, said: dict[str, Any]) -> None:
        """Stores the last output line of a training."""
        self._said.append(said)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(said) + "\n")


def versions() -> dict[str, str]:
    """Returns the versions of what a training uses, without importing it."""
    packages = ("tensorflow", "keras", "numpy")
    return {
        **{name: importlib.metadata.version(name) for name in packages},
        "python": platform.python_version(),
    }
