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
        left_out: How many rows were not taken, by the argument of `KeepRows` that they
            did not pass; empty if all were.
        cluster: The name of the cluster that has its rows; empty: they are in the
            export, which has none of the rows else.
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
    """A cluster that an export asks for rows.

    Attributes:
        name: What the export calls it.
        addresses: Those that it asks unless it is told others.
        variable: The environment variable by which it is told.
    """

    name: str
    addresses: tuple[str, ...]
    variable: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """The file `assets.extra/persia_export.json` of an export.

    Attributes:
        mode: As `export` takes it.
        created: When it was begun, by ISO 8601.
        tables: By their order in the model.
        step: How many steps the model was trained for, if that is known.
        tensorflow: The version that wrote it.
        signatures: The names of its signatures.
        clusters: Those that it asks for rows; none if it has them itself.
        needs: What a program must do before it loads it; empty: nothing.
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
            ValueError: if it is not JSON, or nested too deep to be a manifest.
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
