"""The description of a table that is saved with its rows and checked at loading."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import numpy as np

VERSION = 1

# Parameters of optimizers. If such a parameter is not 0, each row has additional
# optimizer state.
_STATE_SWITCHES = ("momentum", "amsgrad", "centered", "dense")


@dataclasses.dataclass(frozen=True)
class Header:
    """Describes a saved table.

    Attributes:
        table: The table's name, for messages.
        dim: Weights per row.
        optimizer: The optimizer's rule and parameters, as `Optimizer.spec` returns
            them.
        compression: The layer's compression, as `described` returns it. The compression
            determines which ids have rows.
        rows: The number of saved rows.
        batches: The number of batches in which the rows are stored.
        checkpoint: A reference to the checkpoint that holds the rows; None if the rows
            are stored with the header.
        by_chief: Whether the chief, which is the one worker that writes rows, wrote the
            header.
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
            ValueError: if a later version of this library wrote the array.
        """
        fields = json.loads(np.asarray(array, np.uint8).tobytes())
        version = fields.pop("version")
        if version != VERSION:
            raise ValueError(
                f"the rows were saved in format {version} by a later persia_tf, but "
                f"this one reads format {VERSION}. Load them with the later version."
            )
        return cls(**fields)

    def check_fits(self, other: Header) -> None:
        """Checks that the rows that this header describes can be loaded into a table.

        Args:
            other: Describes the table that should get the rows.

        Raises:
            ValueError: if the rows cannot be loaded into that table.
        """
        if not self.by_chief:
            raise ValueError(
                f"the rows of table '{other.table}' are not in what is being loaded, "
                "since a worker other than the chief wrote it. Load what the chief "
                "wrote, and have the other workers write to other paths, as "
                "ptf.callbacks.ModelCheckpoint and BackupAndRestore do."
            )
        for name in ("dim", "compression"):
            saved, own = getattr(self, name), getattr(other, name)
            if saved != own:
                argument = "output_dim" if name == "dim" else name
                raise ValueError(
                    f"the saved rows of table '{self.table}' do not fit table "
                    f"'{other.table}': both must have the same `{argument}`. "
                    f"Received: {argument}={own!r}, saved with {saved!r}"
                )

        if self.checkpoint is not None:
            self._check_checkpoint_has(other)

    def keeps_state(self, other: Header) -> bool:
        """Returns whether a table can use the optimizer state of the saved rows.

        Args:
            other: Describes the table.
        """
        return _kind_of_state(self.optimizer) == _kind_of_state(other.optimizer)

    def _check_checkpoint_has(self, other: Header) -> None:
        if self.full_name in ("", other.full_name):
            return
        raise ValueError(
            f"the rows of table '{other.full_name}' are not in what is being loaded: "
            f"it refers to checkpoint {self.checkpoint['folder']!r}, which has them "
            f"under the name '{self.full_name}'. Give the layer the `table`, and its "
            "cluster the `namespace`, that they were saved with; or raise "
            "`archive_limit` and save again, so that the file holds the rows; or load "
            "only the dense weights, within `ptf.rows_stay()`."
        )


def described(compression: Any) -> dict[str, Any] | None:
    """Returns a layer's compression in a form that JSON can represent."""
    if compression is None:
        return None
    return {"class": type(compression).__name__, **compression.get_config()}


def _kind_of_state(optimizer: str) -> tuple[str, set[str]]:
    """Returns what determines the layout of a row's optimizer state.

    The layout depends on the name of the optimizer's rule, and on which of the
    `_STATE_SWITCHES` are not 0.
    """
    rule, _, numbers = optimizer.partition("(")
    parameters = re.findall(r"(\w+)=([^,)]+)", numbers)
    return rule, {k for k, v in parameters if k in _STATE_SWITCHES and float(v)}
