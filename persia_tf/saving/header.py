"""What is saved of a table beside its rows, to be checked when they are loaded."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np

VERSION = 1


@dataclasses.dataclass(frozen=True)
class Header:
    """Describes a table that was saved.

    Attributes:
        table: Its name, for messages.
        dim: Weights a row.
        optimizer: Its rule and numbers, as `Optimizer.spec` gives them.
        compression: The layer's, as `described` gives it: it says which ids rows have.
        rows: How many rows there are.
        batches: In how many pieces they are stored.
        checkpoint: The checkpoint that holds them instead, or None.
        by_chief: Whether the one worker wrote it that writes rows.
    """

    table: str
    dim: int
    optimizer: str
    compression: dict[str, Any] | None
    rows: int = 0
    batches: int = 0
    checkpoint: dict[str, Any] | None = None
    by_chief: bool = True

    def to_array(self) -> np.ndarray:
        """Returns it as uint8 of rank 1."""
        fields = {"version": VERSION, **dataclasses.asdict(self)}
        return np.frombuffer(json.dumps(fields).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: Any) -> Header:
        """Reads what `to_array` gave.

        Raises:
            ValueError: if a later version of this library wrote it.
        """
        fields = json.loads(np.asarray(array, np.uint8).tobytes())
        version = fields.pop("version")
        if version != VERSION:
            raise ValueError(
                f"rows were saved in format {version}, by a later persia_tf; this one "
                f"reads format {VERSION}. Load them with that one."
            )
        return cls(**fields)

    def check_fits(self, other: Header) -> None:
        """Raises ValueError if its rows would not be those of `other`'s table."""
        if not self.by_chief:
            raise ValueError(
                f"the rows of table '{other.table}' are not in what is being loaded, "
                "since it was written by a worker that is not the chief. Load what "
                "the chief wrote; and have the others write somewhere else, as "
                "ptf.callbacks.ModelCheckpoint and BackupAndRestore do."
            )
        for name in ("dim", "compression"):
            saved, own = getattr(self, name), getattr(other, name)
            if saved != own:
                argument = "output_dim" if name == "dim" else name
                raise ValueError(
                    f"the rows of table '{other.table}' cannot be those of table "
                    f"'{self.table}' that were saved: `{argument}` must be the same. "
                    f"Received: {argument}={own!r}, saved with {saved!r}"
                )

    def keeps_state(self, other: Header) -> bool:
        """Whether the optimizer's state means the same in `other`'s table."""
        return _rule(self.optimizer) == _rule(other.optimizer)


def described(compression: Any) -> dict[str, Any] | None:
    """Returns a layer's compression as JSON has it."""
    if compression is None:
        return None
    return {"class": type(compression).__name__, **compression.get_config()}


def _rule(optimizer: str) -> str:
    return optimizer.partition("(")[0]
