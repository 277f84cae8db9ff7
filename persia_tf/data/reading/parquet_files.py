"""Reads Parquet files, a row group at a time."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from persia_tf.data.reading import columns as columns_lib
from persia_tf.data.reading.opening import opened, pyarrow
from persia_tf.data.reading.parts import Format, Part


class ParquetFiles(Format):
    """Reads some columns of Parquet files.

    Args:
        columns: The columns; None for those of the first file.
        fill: By column, what replaces nulls.
        first: The file that has the types of the columns.

    Raises:
        PersiaError: if the first file cannot be read, or lacks a column.
    """

    def __init__(
        self, columns: Sequence[str] | None, fill: Mapping[str, Any], first: str
    ) -> None:
        self._pa = pyarrow()
        self._fill = fill
        self._first = first
        self._columns = None if columns is None else list(columns)
        self._lock = threading.Lock()
        self._metadata: dict[str, Any] = {}
        schema = self._footer(first).schema.to_arrow_schema()
        self._schema = columns_lib.selected(schema, columns, first)
        columns_lib.check_types(self._schema, first)
        self._columns = self._schema.names

    @property
    def schema(self) -> Any:
        """The columns of what `read` returns, as a `pyarrow.Schema`."""
        return self._schema

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments that make the same reader."""
        return {"columns": self._columns, "fill": self._fill, "first": self._first}

    def parts(self, file: str) -> list[Part]:
        """Returns the row groups of a file."""
        footer = self._footer(file)
        schema = footer.schema.to_arrow_schema()
        schema = columns_lib.selected(schema, self._columns, file)
        columns_lib.check_same(schema, file, self._schema, self._first)
        groups = range(footer.num_row_groups)
        return [
            Part(file, group, group + 1, footer.row_group(group).num_rows)
            for group in groups
        ]

    def read(self, part: Part) -> Any:
        """Reads a row group."""
        footer = self._footer(part.file)
        with opened(part.file) as source:
            # The reader's own threads would contend with those that train.
            table = self._pa.parquet.ParquetFile(
                source, metadata=footer, pre_buffer=True
            ).read_row_group(part.start, columns=self._columns, use_threads=False)
        table = table.select(self._columns).cast(self._schema)
        groups = range(part.start)
        first = sum(footer.row_group(group).num_rows for group in groups)
        return columns_lib.filled(
            table,
            self._fill,
            lambda row: f"row {first + row} (row group {part.start}, from 0)",
            part.file,
        )

    def _footer(self, file: str) -> Any:
        with self._lock:
            footer = self._metadata.get(file)
        if footer is None:
            with opened(file) as source:
                footer = self._pa.parquet.ParquetFile(source).metadata
            with self._lock:
                self._metadata[file] = footer
        return footer
