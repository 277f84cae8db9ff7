"""What an export holds, for people and for programs."""

from __future__ import annotations

import dataclasses
import json

FILE_NAME = "persia_export.json"


@dataclasses.dataclass(frozen=True)
class ExportedTable:
    """A table in an export.

    Attributes:
        name: Its full name.
        dim: Weights a row.
        row_dtype: How weights are held.
        rows: How many rows there are.
        bytes: Of their ids and weights.
    """

    name: str
    dim: int
    row_dtype: str
    rows: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The file `assets.extra/persia_export.json` of an export.

    Attributes:
        mode: As `export` takes it.
        created: When it was begun, by ISO 8601.
        tables: By their order in the model.
    """

    mode: str
    created: str
    tables: tuple[ExportedTable, ...]

    def to_json(self) -> str:
        """Returns the file's text."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Reads the file's text."""
        fields = json.loads(text)
        tables = tuple(ExportedTable(**table) for table in fields.pop("tables"))
        return cls(tables=tables, **fields)
