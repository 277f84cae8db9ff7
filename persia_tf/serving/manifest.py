"""The manifest of an export: what it holds, for people and for programs."""

from __future__ import annotations

import dataclasses
import json

FILE_NAME = "persia_export.json"


@dataclasses.dataclass(frozen=True)
class ExportedTable:
    """A table in an export.

    Attributes:
        name: Its full name.
        dim: Weights per row.
        row_dtype: How weights are stored.
        rows: The number of rows in the export.
        bytes: The bytes of their ids and weights.
        left_out: How many rows were left out, by the argument of `KeepRows` that they
            did not satisfy; empty if none was.
        cluster: The name of the cluster that holds its rows; the export holds none of
            them then. Empty if the rows are in the export.
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
    """A cluster that an export looks rows up in.

    Attributes:
        name: The export's name for the cluster.
        addresses: The default addresses of its servers.
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
        created: When the export was begun, in ISO 8601.
        tables: The tables, in the order of the model.
        step: How many steps the model was trained for; None if unknown.
        tensorflow: The version of TensorFlow that wrote it.
        signatures: The names of its signatures.
        clusters: The clusters that it looks rows up in; empty if it holds the rows.
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
        """Returns the file's text."""
        return json.dumps(dataclasses.asdict(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Reads the file's text.

        Raises:
            ValueError: if it is not JSON, or is nested too deeply.
        """
        try:
            fields = json.loads(text)
        except RecursionError as error:
            raise ValueError(f"{FILE_NAME} is nested too deep: {error}") from error
        tables = tuple(ExportedTable(**table) for table in fields.pop("tables"))
        clusters = tuple(
            ExportedCluster(**{**cluster, "addresses": tuple(cluster["addresses"])})
            for cluster in fields.pop("clusters", ())
        )
        signatures = tuple(fields.pop("signatures", ()))
        return cls(tables=tables, clusters=clusters, signatures=signatures, **fields)
