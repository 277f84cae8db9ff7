"""The description of a table that is saved with its rows and checked at loading."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np

VERSION = 1

# The parameters of optimizers that give each row more state if they are not 0.
_STATE_SWITCHES = ("momentum", "amsgrad", "centered", "dense")


@dataclasses.dataclass(frozen=True)
class Header:
    """Describes a saved table.

    Attributes:
        table: Its name, for messages.
        dim: Weights per row.
        optimizer: The optimizer's rule and parameters, as `Optimizer.spec` returns
            them.
        compression: The layer's compression, as `described` returns it. It determines
            which ids have rows.
        rows: The number of rows.
        batches: The number of batches that the rows are stored in.
        checkpoint: A reference to the checkpoint that holds the rows instead, or None.
        by_chief: Whether the chief wrote this: the one worker that writes rows.
        full_name: The table's full name in its cluster, which checkpoints use. Empty in
            files of earlier versions.
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
        """Returns the description as a uint8 array of rank 1."""
        fields = {"version": VERSION, **dataclasses.asdict(self)}
        return np.frombuffer(json.dumps(fields).encode(), np.uint8)

    @classmethod
    def from_array(cls, array: Any) -> Header:
        """Parses an array that `to_array` returned.

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
        """Raises ValueError if these rows cannot be loaded into `other`'s table."""
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
        """Returns whether `other`'s table can use the optimizer state of the rows."""
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
    """Returns a layer's compression in a form that JSON can represent."""
    if compression is None:
        return None
    return {"class": type(compression).__name__, **compression.get_config()}


def _kind_of_state(optimizer: str) -> tuple[str, set[str]]:
    """Returns what determines the layout of a row's state: rule and switches."""
    rule, _, numbers = optimizer.partition("(")
    parameters = re.findall(r"(\w+)=([^,)]+)", numbers)
    return rule, {k for k, v in parameters if k in _STATE_SWITCHES and float(v)}
