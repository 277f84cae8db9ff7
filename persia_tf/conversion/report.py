"""The report on a conversion, as attributes and as text."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class ConvertedLayer:
    """An `Embedding` whose rows now live in a table.

    Attributes:
        path: The layer's name, preceded by those of the models that it is nested in.
        table: The name of the table that holds the layer's rows.
        rows: The number of the layer's rows: its `input_dim`.
        dim: The number of weights per row.
        notes: What differs from the original layer; and after a conversion with
            `together`, which layer of the clone has the rows, or why the layer is
            still one of its own.
    """

    path: str
    table: str
    rows: int
    dim: int
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class LeftLayer:
    """An `Embedding` that was not converted.

    Attributes:
        path: The layer's name, preceded by those of the models and layers that it is
            nested in.
        rows: The number of the layer's rows: its `input_dim`.
        dim: The number of weights per row.
        reason: Why the layer was not converted.
    """

    path: str
    rows: int
    dim: int
    reason: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What a conversion did with each `Embedding` of a model.

    Attributes:
        converted: The layers whose rows now live in tables.
        left: The layers that were not converted, and why.
        optimizer: The `persia_tf.optimizers` object that updates the converted rows;
            None if these rows follow the optimizer of `compile`.
    """

    converted: tuple[ConvertedLayer, ...]
    left: tuple[LeftLayer, ...]
    optimizer: Any

    def __str__(self) -> str:
        how = "as the model is" if self.optimizer is None else f"by {self.optimizer!r}"
        lines = [_counted(len(self.converted), "converted", how)]
        for layer in self.converted:
            lines.append(
                f"  {layer.path}: {layer.rows:,} x {layer.dim} in table "
                f"'{layer.table}'" + "".join(f"; {note}" for note in layer.notes)
            )
        lines.append(_counted(len(self.left), "left"))
        for layer in self.left:
            lines.append(
                f"  {layer.path}: {layer.rows:,} x {layer.dim}: {layer.reason}"
            )
        return "\n".join(lines)


def _counted(count: int, what: str, how: str = "") -> str:
    layers = "1 Embedding" if count == 1 else f"{count} Embeddings"
    return f"{layers} {what}" + (f", stepped {how}" if how and count else "")
