"""What is saved of a table beside its rows, to be checked when they are loaded."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np

VERSION = 1

# Of optimizers: the parameters that, where they are not 0, give a row more state.
_STATE_SWITCHES = ("momentum", "amsgrad", "centered", "dense")


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
        full_name: The table's name in its cluster, by which a checkpoint has it. Empty
            of a file of an earlier version.
    """

    table: str
    dim: int
    optimizer: str
    compression: dict[str, Any] | None
    rows: int = 0
    batches: int = 0
    checkpoint: dict[str, Any] | None = None
    by_chief: bool = True
    full_name: str = ""

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

        if self.checkpoint is not None:
            self._check_checkpoint_has(other)

    def keeps_state(self, other: Header) -> bool:
        """Whether the optimizer's state means the same in `other`'s table."""
        return _kind_of_state(self.optimizer) == _kind_of_state(other.optimizer)

    def _check_checkpoint_has(self, other: Header) -> None:
        if self.full_name in ("", other.full_name):
            return
        raise ValueError(
            f"the rows of table '{other.full_name}' are not in what is being loaded: "
            f"it refers to checkpoint {self.checkpoint['folder']!r}, which has them as "
            f"table '{self.full_name}', and would put them there. Give the layer the "
            "`table`, and its cluster the `namespace`, that they were saved with; or "
            "save again with an `archive_limit` that has room for them, so that the "
            "file holds them; or load within `ptf.rows_stay()`."
        )


def described(compression: Any) -> dict[str, Any] | None:
    """Returns a layer's compression as JSON has it."""
    if compression is None:
        return None
    return {"class": type(compression).__name__, **compression.get_config()}


def _kind_of_state(optimizer: str) -> tuple[str, set[str]]:
    """What says which numbers a row's state has: the rule, and its switches."""
    rule, _, numbers = optimizer.partition("(")
    parameters = re.findall(r"(\w+)=([^,)]+)", numbers)
    return rule, {k for k, v in parameters if k in _STATE_SWITCHES and float(v)}
