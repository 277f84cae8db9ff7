"""The manifest of an export: a file that describes the export's contents."""

from __future__ import annotations

import dataclasses
import json

FILE_NAME = "persia_export.json"


@dataclasses.dataclass(frozen=True)
class ExportedTable:
    """A table in an export.

    Attributes:
        name: The table's full name.
        dim: The number of weights per row.
        row_dtype: The dtype in which weights are stored.
        rows: The number of rows in the export.
        bytes: The size of these rows' ids and weights, in bytes.
        left_out: For each argument of `KeepRows`: the number of rows that were left out
            because of it; empty if the table was exported without `KeepRows`.
        cluster: The name of the cluster in which the export looks up the table's rows;
            empty if the export holds the rows.
    """

    name: str
    dim: int
    row_dtype: str
    rows: int
    bytes: int
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    cluster: str = ""


@dataclasses.dataclass(frozen=True)
class ExportedCluster:
    """A cluster in which an export looks rows up.

    Attributes:
        name: The export's name for the cluster.
        addresses: The default addresses of the cluster's servers.
        variable: The environment variable that overrides the addresses.
    """

    name: str
    addresses: tuple[str, ...]
    variable: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The file `assets.extra/persia_export.json` of an export.

    Attributes:
        mode: The `mode` of `export`.
        created: The time at which the export began, in ISO 8601.
        tables: The tables, in the order of the model.
        step: How many steps the model was trained for; None if unknown.
        tensorflow: The version of TensorFlow that wrote the export.
        signatures: The names of the export's signatures.
        clusters: The clusters in which the export looks rows up; empty if the export
            holds the rows.
        needs: What a program must do before it loads the export; empty if nothing.
    """

    mode: str
    created: str
    tables: tuple[ExportedTable, ...]
    step: int | None = None
    tensorflow: str = ""
    signatures: tuple[str, ...] = ()
    clusters: tuple[ExportedCluster, ...] = ()
    needs: str = ""

    def to_json(self) -> str:
        """Returns the text of the manifest's file."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"
