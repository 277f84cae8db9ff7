"""Trainings that ended, in a file, so that a long comparison can be broken off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Runs:
    """What programs said on their last line, a line each.

    A training counts as done if all that it was told is equal; of changes of the
    code the file knows nothing.

    Args:
        path: Of the file, made as the first training ends; None keeps no file.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        exists = path is not None and path.exists()
        lines = path.read_text().splitlines() if exists else []
        self._said = [json.loads(line) for line in lines]

    def find(self, setup: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the figures of the training of a set-up, if it is done."""
        for said in self._said:
            if said["setup"] == setup:
                return said["figures"]
        return None

    def add(self, said: dict[str, Any]) -> None:
        """Keeps what a training said."""
        self._said.append(said)
        if self._path is not None:
            with self._path.open("a") as file:
                file.write(json.dumps(said) + "\n")
